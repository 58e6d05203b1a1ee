//! Start hints for local model servers: the commands that error messages name.

/// How to start the server of a local vendor, and how to name its address if it runs elsewhere.
pub fn start_hint(vendor: &str) -> Option<&'static str> {
    Some(match vendor {
        "ollama" => {
            "start it: ollama serve\nor name its address: OLLAMA_HOST=HOST:PORT, or base_url below [providers.ollama] in config.toml"
        }
        "lmstudio" => {
            "start it: lms server start\nor name its address: LMSTUDIO_BASE_URL=http://HOST:PORT/v1, or base_url below [providers.lmstudio] in config.toml"
        }
        "llamacpp" => {
            "start it: llama-server -m MODEL.gguf --port PORT\nor name its address: LLAMACPP_BASE_URL=http://HOST:PORT/v1, or base_url below [providers.llamacpp] in config.toml"
        }
        "vllm" => {
            "start it: vllm serve MODEL\nor name its address: VLLM_BASE_URL=http://HOST:PORT/v1, or base_url below [providers.vllm] in config.toml"
        }
        _ => return None,
    })
}
