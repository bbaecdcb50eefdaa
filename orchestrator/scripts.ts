// The scripts that keep sequence and fencing (DURABILITY 3). Each is atomic and may be sent twice (ioredis sends again what
// had no answer): the second time it changes nothing and answers the same, but for oclaim, which begins one more epoch and
// harms nobody. They know numbers, epochs and bytes, never the meaning of an event. redis.ts defines them on each connection.

import { REMOTE_SCRIPTS, type RemoteScripts } from './agents/remote/scripts.ts';
import { BATCH_SCRIPTS, type BatchScripts } from './batch/scripts.ts';
import { JOB_SCRIPTS, type JobScripts } from './jobs/scripts.ts';
import { LIMIT_SCRIPTS, type LimitScripts } from './provider-limits/scripts.ts';

type ScriptArg = string | number;
type Script<Reply> = (keys: readonly string[], args: readonly ScriptArg[]) => Promise<Reply>;

export interface OdinScripts extends BatchScripts, JobScripts, LimitScripts, RemoteScripts {
  readonly oenq: Script<readonly [string, ...(string | number)[]]>;
  readonly oclaim: Script<readonly [string, ...unknown[]]>;
  readonly oappend: Script<readonly [string]>;
  readonly odone: Script<readonly [string, number, string]>;
  readonly otitle: Script<readonly [string]>;
  readonly ochange: Script<string>;
  readonly oswap: Script<readonly [string, number]>;
  readonly osteer: Script<readonly [string, number]>;
  readonly orevive: Script<number>;
  readonly orewound: Script<number>;
  readonly oinstall: Script<'ok' | 'exists' | 'lost'>;
  readonly oremove: Script<'ok' | 'changed' | 'gone'>;
  readonly oname: Script<number>;
  readonly oleave: Script<number>;
  readonly olease: Script<readonly ['ok', number] | readonly ['held', string, string, string]>;
  /** Its number of keys comes first. */
  readonly orenew: (count: number, ...parts: Parameters<Script<void>>) => Promise<readonly number[]>;
  readonly odrop: Script<number>;
}

// append(log, epoch, first, from): gives ARGV[from..] the ids <epoch>-<first>.. and adds those that are not there yet.
// 'ok', or 'fenced' when a later epoch has begun or other bytes have one of the ids, or 'rewound' when events that were
// acknowledged before are missing: Redis came back with an older file.
const APPEND = `
local function append(log, epoch, first, from)
  local last = redis.call('XREVRANGE', log, '+', '-', 'COUNT', 1)[1]
  local e, n = string.match(last and last[1] or '0-0', '^(%d+)-(%d+)$')
  e = tonumber(e); n = tonumber(n)
  if e > tonumber(epoch) then return 'fenced' end
  if e < tonumber(epoch) or n < first - 1 then return 'rewound' end
  for i = from, #ARGV do
    local k = first + i - from
    local id = epoch .. '-' .. string.format('%d', k)
    if k > n then
      redis.call('XADD', log, id, 'd', ARGV[i])
    else
      local have = redis.call('XRANGE', log, id, id)[1]
      if not have or have[2][2] ~= ARGV[i] then return 'fenced' end
    end
  end
  return 'ok'
end
`;

// oenq: queue a message, once per client id.
// KEYS meta, inbox, mids, ws pending, ws sessions
// ARGV sid, mid, mode, body, limits, now, ws, root, title, create (1: the session may be new), most that may wait
// -> {'queued'|'dup', seq, cursor, gen} | {'full', waiting} | {'unknown'} | {'elsewhere', root}
const OENQ = `
local m = redis.call('HMGET', KEYS[1], 'ws', 'root', 'seq', 'cursor', 'claimed', 'removed', 'gen')
if not m[1] and ARGV[10] ~= '1' then return {'unknown'} end
if m[1] and m[1] ~= ARGV[7] then return {'elsewhere', m[2]} end
local seq = tonumber(m[3] or '0'); local cursor = tonumber(m[4] or '0'); local gen = tonumber(m[7] or '0')
local old = redis.call('HGET', KEYS[3], ARGV[2])
if old then return {'dup', tonumber(old), cursor, gen} end
local waiting = seq - math.max(cursor, tonumber(m[5] or '0')) - tonumber(m[6] or '0')
if waiting >= tonumber(ARGV[11]) then return {'full', waiting} end
seq = seq + 1
redis.call('XADD', KEYS[2], seq .. '-0', 'mid', ARGV[2], 'mode', ARGV[3], 'p', ARGV[4], 'limits', ARGV[5], 'at', ARGV[6])
redis.call('HSET', KEYS[3], ARGV[2], seq)
if not m[1] then
  redis.call('HSET', KEYS[1], 'ws', ARGV[7], 'root', ARGV[8], 'title', ARGV[9], 'createdAt', ARGV[6])
end
redis.call('HSET', KEYS[1], 'seq', seq, 'updatedAt', ARGV[6])
redis.call('SADD', KEYS[4], ARGV[1])
redis.call('ZADD', KEYS[5], ARGV[6], ARGV[1])
return {'queued', seq, cursor, gen}
`;

// oclaim: own the session for its next message; every earlier epoch is over from here on. A removed message is no activity, here and in
// odone: whoever comes by ends it, and then it must not become the session that was last used.
// KEYS meta, log, inbox, changes, owners of the host, ws sessions
// ARGV seq, claim event, sid, owner, now, start of the log entries to return, most of them, id that the log must hold or '',
//      id that the caller has folded up to or '', 1 when the caller saw the process die that ran the message alone
// -> {'done'|'notyet', cursor} | {'ok', epoch, message's fields, changed mode or '', changed body or '', removed 0|1, log,
//      processes that died with the message, those of them that ran it alone, changed limits or ''}
//    | {'rewound', newest id}: the log lacks what it must hold | {'stale'}: it lacks what the caller has folded
//    | {'foreign'}: the session is another workspace's
const OCLAIM = `
local seq = tonumber(ARGV[1])
local m = redis.call('HMGET', KEYS[1], 'cursor', 'claimed', 'ws')
if m[3] and not string.find(KEYS[6], ':' .. m[3] .. ':', 1, true) then return {'foreign'} end
local function lacks(id) return id ~= '' and not redis.call('XRANGE', KEYS[2], id, id)[1] end
if lacks(ARGV[8]) then
  local last = redis.call('XREVRANGE', KEYS[2], '+', '-', 'COUNT', 1)[1]
  return {'rewound', last and last[1] or '0-0'}
end
if lacks(ARGV[9]) then return {'stale'} end
local cursor = tonumber(m[1] or '0'); local claimed = tonumber(m[2] or '0')
if cursor >= seq then return {'done', cursor} end
local message = redis.call('XRANGE', KEYS[3], seq .. '-0', seq .. '-0')[1]
if seq ~= cursor + 1 or not message then return {'notyet', cursor} end
local change = redis.call('HMGET', KEYS[4], seq .. ':m', seq .. ':p', seq .. ':x', seq .. ':l')
local epoch = redis.call('HINCRBY', KEYS[1], 'epoch', 1)
redis.call('XADD', KEYS[2], epoch .. '-0', 'd', ARGV[2])
if claimed == seq then
  local former = redis.call('HGET', KEYS[5], ARGV[3])
  if former then
    local was = cjson.decode(former); local is = cjson.decode(ARGV[4])
    if was.pid ~= is.pid or was.startTime ~= is.startTime then redis.call('HINCRBY', KEYS[1], 'crashes', 1) end
  end
  if ARGV[10] == '1' then redis.call('HINCRBY', KEYS[1], 'crashesAlone', 1) end
else
  redis.call('HDEL', KEYS[1], 'crashes', 'crashesAlone')
  redis.call('HSET', KEYS[1], 'claimed', seq)
  if change[3] then redis.call('HINCRBY', KEYS[1], 'removed', -1) end
end
redis.call('HSET', KEYS[5], ARGV[3], ARGV[4])
if not change[3] then
  redis.call('HSET', KEYS[1], 'updatedAt', ARGV[5])
  redis.call('ZADD', KEYS[6], ARGV[5], ARGV[3])
end
local log = redis.call('XRANGE', KEYS[2], ARGV[6], '+', 'COUNT', ARGV[7])
local crashes = redis.call('HMGET', KEYS[1], 'crashes', 'crashesAlone')
return {'ok', epoch, message[2], change[1] or '', change[2] or '', change[3] and 1 or 0, log,
  tonumber(crashes[1] or '0'), tonumber(crashes[2] or '0'), change[4] or ''}
`;

// oappend: the owner's events, in order, all or as many as memory allows; the rest come again.
// KEYS log   ARGV epoch, number of the first, event...   -> {'ok'|'fenced'|'rewound'}
const OAPPEND = `${APPEND}
return {append(KEYS[1], ARGV[1], tonumber(ARGV[2]), 3)}
`;

// odone: the last events of a message, and the session moves on.
// KEYS meta, log, inbox, changes, owners of the host, ws pending, ws sessions, ws asking
// ARGV epoch, number of the first, seq, sid, now, event... (the last one is msg.done)
// -> {'ok', next seq or 0, its mode or ''} | {'fenced'|'rewound'}
const ODONE = `${APPEND}
local seq = tonumber(ARGV[3]); local first = tonumber(ARGV[2])
local cursor = tonumber(redis.call('HGET', KEYS[1], 'cursor') or '0')
if cursor >= seq then
  local id = ARGV[1] .. '-' .. string.format('%d', first + #ARGV - 6)
  local have = redis.call('XRANGE', KEYS[2], id, id)[1]
  if not have or have[2][2] ~= ARGV[#ARGV] then return {'fenced'} end
else
  local verdict = append(KEYS[2], ARGV[1], first, 6)
  if verdict ~= 'ok' then return {verdict} end
  redis.call('HSET', KEYS[1], 'cursor', seq, 'gen', 0)
  if redis.call('HEXISTS', KEYS[4], seq .. ':x') == 0 then
    redis.call('HSET', KEYS[1], 'updatedAt', ARGV[5])
    redis.call('ZADD', KEYS[7], ARGV[5], ARGV[4])
  end
  redis.call('XTRIM', KEYS[3], 'MINID', (seq + 1) .. '-0')
  redis.call('HDEL', KEYS[4], seq .. ':m', seq .. ':p', seq .. ':x', seq .. ':s', seq .. ':l')
  redis.call('HDEL', KEYS[5], ARGV[4])
  redis.call('SREM', KEYS[8], ARGV[4])
  cursor = seq
end
local head = redis.call('XRANGE', KEYS[3], (cursor + 1) .. '-0', (cursor + 1) .. '-0')[1]
if head then return {'ok', cursor + 1, redis.call('HGET', KEYS[4], (cursor + 1) .. ':m') or head[2][4]} end
redis.call('SREM', KEYS[6], ARGV[4])
return {'ok', 0, ''}
`;

// otitle: what a session is called, behind the message that has ended, while nobody has begun the next one.
// KEYS meta, log   ARGV epoch, number of the first, title or '', event...   -> {'ok'|'fenced'|'rewound'}
const OTITLE = `${APPEND}
local verdict = append(KEYS[2], ARGV[1], tonumber(ARGV[2]), 4)
if verdict == 'ok' and ARGV[3] ~= '' then redis.call('HSET', KEYS[1], 'title', ARGV[3]) end
return {verdict}
`;

// ochange: edit or remove a message that waits, or take it out because the running one was told it ('steered': it is on its way to it,
// or for 'told', it is not). A removed one keeps its place, so that numbers stay dense.
// KEYS meta, inbox, changes   ARGV seq, 'remove' | 'edit' | 'told', mode or '', body or ''
// -> 'ok' | 'missing' | 'done' | 'running' | 'removed' | 'steered'
const OCHANGE = `
local seq = tonumber(ARGV[1])
local m = redis.call('HMGET', KEYS[1], 'cursor', 'claimed')
local cursor = tonumber(m[1] or '0'); local claimed = tonumber(m[2] or '0')
if seq <= cursor then return 'done' end
if seq <= claimed then return 'running' end
if #redis.call('XRANGE', KEYS[2], seq .. '-0', seq .. '-0') == 0 then return 'missing' end
if redis.call('HEXISTS', KEYS[3], seq .. ':x') == 1 then return ARGV[2] == 'edit' and 'removed' or 'ok' end
local steered = claimed > cursor and redis.call('HGET', KEYS[3], seq .. ':s') == tostring(claimed)
if steered ~= (ARGV[2] == 'told') then return 'steered' end
if ARGV[2] ~= 'edit' then
  redis.call('HSET', KEYS[3], seq .. ':x', 1)
  redis.call('HINCRBY', KEYS[1], 'removed', 1)
  return 'ok'
end
if ARGV[3] ~= '' then redis.call('HSET', KEYS[3], seq .. ':m', ARGV[3]) end
if ARGV[4] ~= '' then redis.call('HSET', KEYS[3], seq .. ':p', ARGV[4]) end
return 'ok'
`;

// oswap: two messages that wait exchange all that they say: mode, body, limits and options. They keep their numbers and client ids.
// KEYS meta, inbox, changes   ARGV seq, seq, id of this exchange   -> {'ok' | as ochange, the number that it is about}
const OSWAP = `
if redis.call('HGET', KEYS[3], 'swap') == ARGV[3] then return {'ok', 0} end
local m = redis.call('HMGET', KEYS[1], 'cursor', 'claimed')
local cursor = tonumber(m[1] or '0'); local claimed = tonumber(m[2] or '0')
local said = {}
for i = 1, 2 do
  local seq = tonumber(ARGV[i])
  if seq <= cursor then return {'done', seq} end
  if seq <= claimed then return {'running', seq} end
  local message = redis.call('XRANGE', KEYS[2], seq .. '-0', seq .. '-0')[1]
  if not message then return {'missing', seq} end
  if redis.call('HEXISTS', KEYS[3], seq .. ':x') == 1 then return {'removed', seq} end
  if claimed > cursor and redis.call('HGET', KEYS[3], seq .. ':s') == tostring(claimed) then return {'steered', seq} end
  local field = {}
  for k = 1, #message[2], 2 do field[message[2][k]] = message[2][k + 1] end
  local change = redis.call('HMGET', KEYS[3], seq .. ':m', seq .. ':p', seq .. ':l')
  said[i] = {change[1] or field.mode, change[2] or field.p, change[3] or field.limits}
end
for i = 1, 2 do
  local seq = tonumber(ARGV[i]); local other = said[3 - i]
  redis.call('HSET', KEYS[3], seq .. ':m', other[1], seq .. ':p', other[2], seq .. ':l', other[3])
end
redis.call('HSET', KEYS[3], 'swap', ARGV[3])
return {'ok', 0}
`;

// osteer: a message that waits is to be told to the one that runs. Until that has ended it cannot be changed: its text is on its way.
// KEYS meta, inbox, changes, ws ctl   ARGV seq, sid, by   -> {'ok', number of the running one} | {'idle' | as ochange, 0}
const OSTEER = `
local seq = tonumber(ARGV[1])
local m = redis.call('HMGET', KEYS[1], 'cursor', 'claimed')
local cursor = tonumber(m[1] or '0'); local claimed = tonumber(m[2] or '0')
if seq <= cursor then return {'done', 0} end
if seq <= claimed then return {'running', 0} end
if #redis.call('XRANGE', KEYS[2], seq .. '-0', seq .. '-0') == 0 then return {'missing', 0} end
if redis.call('HEXISTS', KEYS[3], seq .. ':x') == 1 then return {'removed', 0} end
if claimed <= cursor then return {'idle', 0} end
if redis.call('HGET', KEYS[3], seq .. ':s') ~= tostring(claimed) then
  redis.call('HSET', KEYS[3], seq .. ':s', claimed)
  local request = { type = 'steer', seq = claimed, queued = seq, by = ARGV[3] }
  redis.call('XADD', KEYS[4], '*', 'sid', ARGV[2], 'd', cjson.encode(request))
end
return {'ok', claimed}
`;

// orevive: the job of the head message has ended without finishing it, so the next one needs a new id.
// KEYS meta   ARGV head seq, gen of the job that ended   -> the gen to use, or -1 when the session has moved on
const OREVIVE = `
local m = redis.call('HMGET', KEYS[1], 'seq', 'cursor', 'gen')
local head = tonumber(m[2] or '0') + 1
if head ~= tonumber(ARGV[1]) or tonumber(m[1] or '0') < head then return -1 end
if tonumber(m[3] or '0') == tonumber(ARGV[2]) then return redis.call('HINCRBY', KEYS[1], 'gen', 1) end
return tonumber(m[3])
`;

// orewound: the ids of a log that has lost its end go on above all that were given before.
// KEYS meta   ARGV the highest epoch known   -> 1, or 0 when there is no such session
const OREWOUND = `
local epoch = redis.call('HGET', KEYS[1], 'epoch')
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
if tonumber(epoch or '0') < tonumber(ARGV[1]) then redis.call('HSET', KEYS[1], 'epoch', ARGV[1]) end
return 1
`;

// oinstall: a session that was staged beside its place is there from now on, unless it is there already.
// KEYS meta, log, mids, staged log, staged mids, ws sessions   ARGV sid, updatedAt, field, value... (of meta)
// -> 'ok' | 'exists' | 'lost': what was staged has expired
const OINSTALL = `
if redis.call('EXISTS', KEYS[1]) == 1 then return 'exists' end
if redis.call('EXISTS', KEYS[4]) == 0 then return 'lost' end
redis.call('RENAME', KEYS[4], KEYS[2])
redis.call('PERSIST', KEYS[2])
if redis.call('EXISTS', KEYS[5]) == 1 then
  redis.call('RENAME', KEYS[5], KEYS[3])
  redis.call('PERSIST', KEYS[3])
end
for i = 3, #ARGV, 2 do redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1]) end
redis.call('ZADD', KEYS[6], ARGV[2], ARGV[1])
return 'ok'
`;

// oremove: a session whose archive is whole leaves, unless anything about it has changed since it was read, waits or runs.
// KEYS meta, log, inbox, changes, mids, live, ws sessions, ws pending, owners of the host, ws asking
// ARGV sid, last id of the log, number of its events, seq, epoch, number of client ids
// -> 'ok' | 'changed' | 'gone'
const OREMOVE = `
local m = redis.call('HMGET', KEYS[1], 'seq', 'cursor', 'epoch')
if not m[1] then return 'gone' end
local last = redis.call('XREVRANGE', KEYS[2], '+', '-', 'COUNT', 1)[1]
if not last or last[1] ~= ARGV[2] or redis.call('XLEN', KEYS[2]) ~= tonumber(ARGV[3]) then return 'changed' end
if m[1] ~= ARGV[4] or m[2] ~= ARGV[4] or m[3] ~= ARGV[5] then return 'changed' end
if redis.call('HLEN', KEYS[5]) ~= tonumber(ARGV[6]) then return 'changed' end
if redis.call('SISMEMBER', KEYS[8], ARGV[1]) == 1 then return 'changed' end
for i = 1, 6 do redis.call('DEL', KEYS[i]) end
redis.call('ZREM', KEYS[7], ARGV[1])
redis.call('HDEL', KEYS[9], ARGV[1])
redis.call('SREM', KEYS[10], ARGV[1])
return 'ok'
`;

// oname: the owner of a session learns which job it has.
// KEYS owners of the host   ARGV sid, the owner without a job, the owner with it   -> 1, or 0 when the session is not that owner's
const ONAME = `
if redis.call('HGET', KEYS[1], ARGV[1]) ~= ARGV[2] then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
return 1
`;

// oleave: the owner puts a message down that is not done. What comes next is no crash.
// KEYS meta, owners of the host   ARGV sid, epoch   -> 1, or 0 when somebody else has it
const OLEAVE = `
if redis.call('HGET', KEYS[1], 'epoch') ~= ARGV[2] then return 0 end
return redis.call('HDEL', KEYS[2], ARGV[1])
`;

// olease: a process owns the workspace, or goes on owning it. Whoever owned it before must be gone (workspace-lease.ts).
// KEYS ws owner, ws pending   ARGV id, who it is, number of the beat, id of the former owner that may be replaced or ''
// -> {'ok', sessions that have something to do} | {'held', id, who it is, number of its last beat}
const OLEASE = `
local m = redis.call('HMGET', KEYS[1], 'id', 'who', 'beat')
if m[1] and m[1] ~= ARGV[1] and m[1] ~= ARGV[4] then return {'held', m[1], m[2], m[3]} end
redis.call('HSET', KEYS[1], 'id', ARGV[1], 'who', ARGV[2], 'beat', ARGV[3])
return {'ok', redis.call('SCARD', KEYS[2])}
`;

// orenew: a process that owns workspaces can still run them; for each of them.   KEYS ws owner...   ARGV id, number of this sign of life...
// -> 1, or 0 when it is not known as the owner any more, or its key is no owner's: the others are renewed all the same...
const ORENEW = `
local held = {}
for i = 1, #KEYS do
  held[i] = redis.pcall('HGET', KEYS[i], 'id') == ARGV[2 * i - 1] and 1 or 0
  if held[i] == 1 then redis.call('HSET', KEYS[i], 'beat', ARGV[2 * i]) end
end
return held
`;

// odrop: a process that owned the workspace does so no longer.   KEYS ws owner   ARGV id   -> 1, or 0 when another one has it
const ODROP = `
if redis.call('HGET', KEYS[1], 'id') ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])
`;

/** For ioredis' `scripts` option, so that duplicates of a connection have them too. */
export const SCRIPTS = {
  ...BATCH_SCRIPTS,
  ...JOB_SCRIPTS,
  ...LIMIT_SCRIPTS,
  ...REMOTE_SCRIPTS,
  oenq: { numberOfKeys: 5, lua: OENQ },
  oclaim: { numberOfKeys: 6, lua: OCLAIM },
  oappend: { numberOfKeys: 1, lua: OAPPEND },
  odone: { numberOfKeys: 8, lua: ODONE },
  otitle: { numberOfKeys: 2, lua: OTITLE },
  ochange: { numberOfKeys: 3, lua: OCHANGE },
  oswap: { numberOfKeys: 3, lua: OSWAP },
  osteer: { numberOfKeys: 4, lua: OSTEER },
  orevive: { numberOfKeys: 1, lua: OREVIVE },
  orewound: { numberOfKeys: 1, lua: OREWOUND },
  oinstall: { numberOfKeys: 6, lua: OINSTALL },
  oremove: { numberOfKeys: 10, lua: OREMOVE },
  oname: { numberOfKeys: 1, lua: ONAME },
  oleave: { numberOfKeys: 2, lua: OLEAVE },
  olease: { numberOfKeys: 2, lua: OLEASE },
  orenew: { lua: ORENEW },
  odrop: { numberOfKeys: 1, lua: ODROP },
} as const;
