-- The requests of one load, for wrk. Arguments: a file with the targets of the hits, one a line; the
-- pattern of the target of a miss, or "" for hits; the number before that of the first miss; the highest seqno of a
-- miss; Accept-Encoding, or "".
local hits, pattern, number, highestSeqno = {}, "", 0, 0
local asked = 0

function init(args)
  for target in io.lines(args[1]) do
    if args[5] ~= "" then wrk.headers["Accept-Encoding"] = args[5] end
    hits[#hits + 1] = wrk.format("GET", target)
  end
  pattern, number, highestSeqno = args[2], tonumber(args[3]), tonumber(args[4])
end

function request()
  if pattern == "" then
    asked = asked + 1
    return hits[asked % #hits + 1]
  end
  number = number + 1
  local target = pattern:gsub("{hex}", string.format("%062x", number)):gsub("{seqno}", highestSeqno - number)
  return wrk.format("GET", target)
end

function done(summary)
  local errors = summary.errors
  io.write(string.format('\n{"requests":%d,"failed":%d}\n',
    summary.requests, errors.status + errors.connect + errors.read + errors.write + errors.timeout))
end
