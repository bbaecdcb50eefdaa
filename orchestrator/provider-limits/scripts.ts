// The scripts of the limits that all processes at one Redis share. Time is Redis' own. Both may be sent twice.

type Script<Reply> = (keys: readonly string[], args: readonly (string | number)[]) => Promise<Reply>;

export interface LimitScripts {
  readonly opermit: Script<number>;
  readonly opermitback: Script<number>;
}

const CLOCK = `
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
`;

// A bucket fills by perMinute in a minute and holds no more than that.
const BUCKET = `
local function level(name, perMinute)
  local m = redis.call('HMGET', KEYS[3], name, name .. ':at')
  if not m[1] then return perMinute end
  return math.min(perMinute, tonumber(m[1]) + (now - tonumber(m[2])) * perMinute / 60000)
end
local function set(name, value) redis.call('HSET', KEYS[3], name, tostring(value), name .. ':at', now) end
`;

// opermit: a call may be made, or how long to wait before asking again. An interactive call that waits goes before all of batches.
// KEYS calls under way, interactive calls that wait, buckets
// ARGV id, 1 when it is interactive, concurrency, requests a minute, tokens a minute (0: no limit), tokens it may take,
//      milliseconds after which a call that gives no sign is over
// -> 0 when it may, else milliseconds
const OPERMIT = `${CLOCK}${BUCKET}
local id = ARGV[1]
local rpm = tonumber(ARGV[4]); local tpm = tonumber(ARGV[5])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now)
if redis.call('ZSCORE', KEYS[1], id) then
  redis.call('ZADD', KEYS[1], now + tonumber(ARGV[7]), id)
  redis.call('PEXPIRE', KEYS[1], 600000)
  return 0
end
local wait = 0
if ARGV[2] ~= '1' and redis.call('ZCARD', KEYS[2]) > 0 then wait = 100 end
if tonumber(ARGV[3]) > 0 and redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[3]) then wait = math.max(wait, 50) end
local requests = rpm > 0 and level('requests', rpm) or 0
if rpm > 0 and requests < 1 then wait = math.max(wait, (1 - requests) * 60000 / rpm) end
local need = math.min(tonumber(ARGV[6]), tpm)
local tokens = tpm > 0 and level('tokens', tpm) or 0
if tpm > 0 and tokens < need then wait = math.max(wait, (need - tokens) * 60000 / tpm) end
if wait > 0 then
  if ARGV[2] == '1' then redis.call('ZADD', KEYS[2], now + 2000, id) end
  return math.ceil(wait)
end
redis.call('ZREM', KEYS[2], id)
redis.call('ZADD', KEYS[1], now + tonumber(ARGV[7]), id)
if rpm > 0 then set('requests', requests - 1) end
if tpm > 0 then set('tokens', tokens - tonumber(ARGV[6])) end
for i = 1, 3 do redis.call('PEXPIRE', KEYS[i], 600000) end
return 0
`;

// opermitback: the call is over, or will not be made.
// KEYS as opermit   ARGV id, tokens a minute (0: no limit), tokens it took beyond those that it was given (less: negative)   -> 1, or 0 when it was over
const OPERMITBACK = `${CLOCK}${BUCKET}
redis.call('ZREM', KEYS[2], ARGV[1])
if redis.call('ZREM', KEYS[1], ARGV[1]) == 0 then return 0 end
local tpm = tonumber(ARGV[2])
if tpm > 0 then set('tokens', math.min(tpm, level('tokens', tpm) - tonumber(ARGV[3]))) end
return 1
`;

export const LIMIT_SCRIPTS = {
  opermit: { numberOfKeys: 3, lua: OPERMIT },
  opermitback: { numberOfKeys: 3, lua: OPERMITBACK },
} as const;
