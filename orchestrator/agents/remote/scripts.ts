// The scripts of remote subagents: who runs one, and that only that one is heard. Like those of ../../scripts.ts they are atomic and may be
// sent twice. A claim begins a new epoch; what an older one says or gives is refused. They know numbers and bytes, never what is said.

type Script<Reply> = (keys: readonly string[], args: readonly (string | number)[]) => Promise<Reply>;

export interface RemoteScripts {
  readonly orclaim: Script<readonly ['ok', number, number, string] | readonly ['unknown' | 'ended' | 'crashes']>;
  readonly orsay: Script<'ok' | 'fenced'>;
  readonly orput: Script<'ok' | 'fenced'>;
  readonly orrelease: Script<number>;
  readonly ortake: Script<'ok' | 'ended'>;
}

// orclaim: this process runs the agent from here on. Where the one before it died, that counts; where its working copy is this machine's,
// its session goes on, else a new attempt begins.
// KEYS meta   ARGV who runs it, the place of working copies, session for a new attempt, deaths that end it
// -> {'ok', epoch, attempt, session} | {'unknown'} | {'ended'} | {'crashes'}
const ORCLAIM = `
local m = redis.call('HMGET', KEYS[1], 'order', 'ended', 'run', 'place', 'session', 'claim', 'deaths')
if not m[1] then return {'unknown'} end
if m[2] then return {'ended'} end
if m[3] and m[3] ~= ARGV[1] then
  local deaths = redis.call('HINCRBY', KEYS[1], 'deaths', 1)
  if deaths >= tonumber(ARGV[4]) then redis.call('HSET', KEYS[1], 'crashed', 1) end
end
redis.call('HSET', KEYS[1], 'run', ARGV[1])
local epoch = redis.call('HINCRBY', KEYS[1], 'epoch', 1)
local session = m[5]
if not session or m[4] ~= ARGV[2] then
  session = ARGV[3]
  redis.call('HSET', KEYS[1], 'place', ARGV[2], 'session', session)
  redis.call('HINCRBY', KEYS[1], 'attempt', 1)
end
if redis.call('HEXISTS', KEYS[1], 'crashed') == 1 then
  return {'crashes', epoch, tonumber(redis.call('HGET', KEYS[1], 'attempt')), session}
end
return {'ok', epoch, tonumber(redis.call('HGET', KEYS[1], 'attempt')), session}
`;

// orsay: one more entry of the agent's stream, at its place. One that is there already stays as it is.
// KEYS meta, stream   ARGV epoch, attempt, n, text, code, 1 when it is the last, seconds that it is kept   -> 'ok' | 'fenced'
const ORSAY = `
local m = redis.call('HMGET', KEYS[1], 'epoch', 'ended')
if m[2] or m[1] ~= ARGV[1] then return 'fenced' end
local last = redis.call('XREVRANGE', KEYS[2], '+', '-', 'COUNT', 1)[1]
local a, n = string.match(last and last[1] or '0-0', '^(%d+)-(%d+)$')
a = tonumber(a); n = tonumber(n)
local isNew = tonumber(ARGV[2]) > a or (tonumber(ARGV[2]) == a and tonumber(ARGV[3]) > n)
if isNew then
  redis.call('XADD', KEYS[2], ARGV[2] .. '-' .. ARGV[3], 'd', ARGV[4], 's', ARGV[5])
  redis.call('EXPIRE', KEYS[2], ARGV[7])
end
if ARGV[6] == '1' then
  redis.call('HSET', KEYS[1], 'ended', 'worker')
  redis.call('HDEL', KEYS[1], 'run')
end
return 'ok'
`;

// orput: a field of the agent's, by whoever runs it.   KEYS meta   ARGV epoch, field, value   -> 'ok' | 'fenced'
const ORPUT = `
local m = redis.call('HMGET', KEYS[1], 'epoch', 'ended')
if m[2] or m[1] ~= ARGV[1] then return 'fenced' end
redis.call('HSET', KEYS[1], ARGV[2], ARGV[3])
return 'ok'
`;

// orrelease: the agent is put down; another worker, or the parent, goes on.   KEYS meta   ARGV epoch   -> 1, or 0 when somebody else has it
const ORRELEASE = `
if redis.call('HGET', KEYS[1], 'epoch') ~= ARGV[1] then return 0 end
return redis.call('HDEL', KEYS[1], 'run')
`;

// ortake: no worker is heard any more. Sent twice it answers the same.
// KEYS meta   -> 'ok' | 'ended': a worker has said how it ended, and that holds
const ORTAKE = `
local ended = redis.call('HGET', KEYS[1], 'ended')
if ended == 'worker' then return 'ended' end
if not ended and redis.call('EXISTS', KEYS[1]) == 1 then
  redis.call('HSET', KEYS[1], 'ended', 'parent')
  redis.call('HINCRBY', KEYS[1], 'epoch', 1)
end
return 'ok'
`;

export const REMOTE_SCRIPTS = {
  orclaim: { numberOfKeys: 1, lua: ORCLAIM },
  orsay: { numberOfKeys: 2, lua: ORSAY },
  orput: { numberOfKeys: 1, lua: ORPUT },
  orrelease: { numberOfKeys: 1, lua: ORRELEASE },
  ortake: { numberOfKeys: 1, lua: ORTAKE },
} as const;
