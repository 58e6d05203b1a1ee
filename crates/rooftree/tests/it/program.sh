#!/bin/bash
# Stands in for `claude`: says which variables it found, as one answer.
cat >/dev/null
cat <<END
{"type":"system","subtype":"init","session_id":"s-1"}
{"type":"assistant","message":{"content":[{"type":"text","text":"I am a program${ODD_TOKEN:+ with a token}."}]},"session_id":"s-1"}
{"type":"result","subtype":"success","is_error":false,"session_id":"s-1","total_cost_usd":0.25,"usage":{"input_tokens":9,"output_tokens":2}}
END
