-- The requests of one load, for wrk. Arguments (see wrk.ts): a file with the targets of the hits, one a line; the
-- pattern of the target of a miss; how often a request is a miss (0: never, n: every n-th time); the number of the
-- first miss; the highest seqno of a miss; Accept-Encoding, or "".
local hits, pattern, every, number, highestSeqno = {}, "", 0, 0, 0
local asked = 0

function init(args)
  for target in io.lines(args[1]) do
    if args[6] ~= "" then wrk.headers["Accept-Encoding"] = args[6] end
    hits[#hits + 1] = wrk.format("GET", target)
  end
  pattern, every, number, highestSeqno = args[2], tonumber(args[3]), tonumber(args[4]), tonumber(args[5])
end

function request()
  asked = asked + 1
  if every > 0 and asked % every == 0 then
    number = number + 1
    local target = pattern:gsub("{hex}", string.format("%062x", number)):gsub("{seqno}", highestSeqno - number)
    return wrk.format("GET", target)
  end
  return hits[asked % #hits + 1]
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '\n{"requests":%d,"seconds":%.6f,"bytes":%.0f,"refused":%d,"broken":%d,"p50Ms":%.3f,"p99Ms":%.3f}\n',
    summary.requests, summary.duration / 1e6, summary.bytes, errors.status,
    errors.connect + errors.read + errors.write + errors.timeout,
    latency:percentile(50) / 1e3, latency:percentile(99) / 1e3))
end
