// The scripts of a batch (DURABILITY 10): who runs an item, and that it has one result. Like those of ../scripts.ts they are atomic and
// may be sent twice. A claim begins a new epoch of the item; a result of an older one is refused.

type Script<Reply> = (keys: readonly string[], args: readonly (string | number)[]) => Promise<Reply>;

export interface BatchScripts {
  readonly obclaim: Script<
    readonly ['done' | 'cancelled' | 'stale' | 'budget' | 'unknown'] | readonly ['ok', number, string, 0 | 1]
  >;
  readonly obfinish: Script<'ok' | 'last' | 'done' | 'fenced'>;
  readonly obskip: Script<'ok' | 'last' | 'done' | 'running'>;
  readonly obrelease: Script<number>;
  readonly obretry: Script<number>;
  readonly oballow: Script<string>;
  readonly obmissing: Script<readonly [string, ...string[]]>;
  readonly obbeat: Script<readonly string[]>;
}

// obclaim: this process runs the item from here on, in the item's session in this working copy.
// KEYS meta, marks, runs, results, todo   ARGV item, how often it was begun anew, who runs it, working copy, session if it has none there
// -> {'ok', epoch, session, 1 when it is that one} | {'done'} | {'cancelled'} | {'stale'}: begun anew since | {'budget'}: the batch has nothing left | {'unknown'}
const OBCLAIM = `
if redis.call('HEXISTS', KEYS[4], ARGV[1]) == 1 then return {'done'} end
if redis.call('SISMEMBER', KEYS[5], ARGV[1]) == 0 then return {'unknown'} end
if (redis.call('HGET', KEYS[2], 'g:' .. ARGV[1]) or '0') ~= ARGV[2] then return {'stale'} end
local m = redis.call('HMGET', KEYS[1], 'cancelled', 'capUsd', 'usd', 'capTokens', 'tokens')
local spent = (m[2] and tonumber(m[3] or '0') >= tonumber(m[2])) or (m[4] and tonumber(m[5] or '0') >= tonumber(m[4]))
if m[1] or spent then
  redis.call('HDEL', KEYS[3], ARGV[1])
  return {m[1] and 'cancelled' or 'budget'}
end
redis.call('HSET', KEYS[3], ARGV[1], ARGV[3])
local place = 's:' .. ARGV[1] .. ':' .. ARGV[2] .. ':' .. ARGV[4]
redis.call('HSETNX', KEYS[2], place, ARGV[5])
local session = redis.call('HGET', KEYS[2], place)
return {'ok', redis.call('HINCRBY', KEYS[2], 'e:' .. ARGV[1], 1), session, session == ARGV[5] and 1 or 0}
`;

// All keys of the batch are given: when it is over they are forgotten after a while. 'last': it is over now.
// KEYS meta, marks, runs, results, todo, patches, items, after
const RESULT = `
local function result(item, text, status, usd, tokens, now, keptS)
  if redis.call('HSETNX', KEYS[4], item, text) == 0 then return 'done' end
  redis.call('HDEL', KEYS[3], item)
  redis.call('SREM', KEYS[5], item)
  redis.call('HINCRBY', KEYS[1], 'n:' .. status, 1)
  if usd == '' then redis.call('HINCRBY', KEYS[1], 'unpriced', 1) else redis.call('HINCRBYFLOAT', KEYS[1], 'usd', usd) end
  redis.call('HINCRBY', KEYS[1], 'tokens', tokens)
  if redis.call('SCARD', KEYS[5]) > 0 then return 'ok' end
  redis.call('HSET', KEYS[1], 'endedAt', now)
  for i = 1, #KEYS do redis.call('EXPIRE', KEYS[i], keptS) end
  return 'last'
end
`;

// obfinish: the result of the item, once, by whoever claimed it last.
// ARGV item, epoch, result, status, USD or '' when it is not known, tokens, now, patch or '', seconds that a batch is kept
const OBFINISH = `${RESULT}
if redis.call('HEXISTS', KEYS[4], ARGV[1]) == 1 then return 'done' end
if redis.call('HGET', KEYS[2], 'e:' .. ARGV[1]) ~= ARGV[2] then return 'fenced' end
if ARGV[8] ~= '' then redis.call('HSET', KEYS[6], ARGV[1], ARGV[8]) end
return result(ARGV[1], ARGV[3], ARGV[4], ARGV[5], ARGV[6], ARGV[7], ARGV[9])
`;

// obskip: the result of an item that nobody runs.   ARGV item, result, status, now, seconds that a batch is kept
const OBSKIP = `${RESULT}
if redis.call('HEXISTS', KEYS[3], ARGV[1]) == 1 then return 'running' end
return result(ARGV[1], ARGV[2], ARGV[3], '0', '0', ARGV[4], ARGV[5])
`;

// obrelease: the item is put down without a result.   KEYS marks, runs   ARGV item, epoch   -> 1, or 0 when somebody else has it
const OBRELEASE = `
if redis.call('HGET', KEYS[1], 'e:' .. ARGV[1]) ~= ARGV[2] then return 0 end
return redis.call('HDEL', KEYS[2], ARGV[1])
`;

// obretry: every item given that has ended otherwise than completed is begun anew. What runs again is not forgotten.
// KEYS meta, marks, runs, results, todo, patches, items, after   ARGV item...   -> how many
const OBRETRY = `
local begun = 0
for i = 1, #ARGV do
  local text = redis.call('HGET', KEYS[4], ARGV[i])
  local status = text and cjson.decode(text).status
  if status and status ~= 'completed' then
    redis.call('HDEL', KEYS[4], ARGV[i])
    redis.call('HDEL', KEYS[6], ARGV[i])
    redis.call('HINCRBY', KEYS[2], 'g:' .. ARGV[i], 1)
    redis.call('HINCRBY', KEYS[1], 'n:' .. status, -1)
    redis.call('SADD', KEYS[5], ARGV[i])
    begun = begun + 1
  end
end
if begun > 0 then
  redis.call('HDEL', KEYS[1], 'cancelled', 'endedAt')
  for i = 1, #KEYS do redis.call('PERSIST', KEYS[i]) end
end
return begun
`;

// oballow: a piece of what is left of a budget. Sent twice it may give two, of which one is lost: too little is spent, never too much.
// KEYS meta   ARGV field of what was given, the whole, what is wanted   -> what is given
const OBALLOW = `
local left = tonumber(ARGV[2]) - tonumber(redis.call('HGET', KEYS[1], ARGV[1]) or '0')
local piece = math.min(left, tonumber(ARGV[3]))
if piece <= 0 then return '0' end
redis.call('HINCRBYFLOAT', KEYS[1], ARGV[1], string.format('%.12f', piece))
return string.format('%.12f', piece)
`;

// obmissing: the next of a batch's items that are not done, and that have no job that waits or runs in any of these queues.
// KEYS todo, marks   ARGV cursor, batch, what the keys of a queue begin with...   -> the next cursor, '0' when there are no more, item...
const OBMISSING = `
local found = redis.call('SSCAN', KEYS[1], ARGV[1], 'COUNT', 500)
local missing = {found[1]}
for _, item in ipairs(found[2]) do
  local m = redis.call('HMGET', KEYS[2], 'g:' .. item, 'j:' .. item)
  local id = ARGV[2] .. '_' .. item .. '_' .. (m[1] or '0') .. '_' .. (m[2] or '0')
  local open = false
  for i = 3, #ARGV do
    open = open or (redis.call('EXISTS', ARGV[i] .. id) == 1 and not redis.call('ZSCORE', ARGV[i] .. 'completed', id)
      and not redis.call('ZSCORE', ARGV[i] .. 'failed', id))
  end
  if not open then missing[#missing + 1] = item end
end
return missing
`;

// obbeat: a worker is alive, by Redis' clock, so that no two machines' clocks need agree; those that were silent for long are forgotten.
// KEYS workers, beats   ARGV worker or '', what it is, milliseconds after which one is forgotten
// -> worker, what it is, milliseconds since its last beat...
const OBBEAT = `
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
if ARGV[1] ~= '' then
  redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
  redis.call('HSET', KEYS[2], ARGV[1], now)
end
local all = {}
local beats = redis.call('HGETALL', KEYS[2])
for i = 1, #beats, 2 do
  local ago = now - tonumber(beats[i + 1])
  if ago > tonumber(ARGV[3]) then
    redis.call('HDEL', KEYS[1], beats[i])
    redis.call('HDEL', KEYS[2], beats[i])
  else
    all[#all + 1] = beats[i]
    all[#all + 1] = redis.call('HGET', KEYS[1], beats[i]) or '{}'
    all[#all + 1] = string.format('%d', ago)
  end
end
return all
`;

export const BATCH_SCRIPTS = {
  obclaim: { numberOfKeys: 5, lua: OBCLAIM },
  obfinish: { numberOfKeys: 8, lua: OBFINISH },
  obskip: { numberOfKeys: 8, lua: OBSKIP },
  obrelease: { numberOfKeys: 2, lua: OBRELEASE },
  obretry: { numberOfKeys: 8, lua: OBRETRY },
  oballow: { numberOfKeys: 1, lua: OBALLOW },
  obmissing: { numberOfKeys: 2, lua: OBMISSING },
  obbeat: { numberOfKeys: 2, lua: OBBEAT },
} as const;
