#!/bin/bash
# Stands in for `claude`: notes what it was given and plays one answer with a failed tool in it.
here=$FAKE_PROGRAM
printf '%s\n' "$@" >>"$here/arguments"
cat >>"$here/input"
cat <<'END'
{"type":"system","subtype":"init","session_id":"s-1"}
{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"make"}}]},"session_id":"s-1"}
{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","is_error":true}]},"session_id":"s-1"}
{"type":"assistant","message":{"content":[{"type":"text","text":"It failed."}]},"session_id":"s-1"}
{"type":"result","subtype":"success","is_error":false,"session_id":"s-1","total_cost_usd":0.25,"usage":{"input_tokens":9000000,"output_tokens":2}}
END
