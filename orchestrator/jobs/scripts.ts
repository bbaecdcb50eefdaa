// The scripts of queues of jobs: what is asked of many jobs at once, which BullMQ answers one by one.

export interface JobScripts {
  readonly ojobs: (keys: readonly string[], args: readonly string[]) => Promise<readonly number[]>;
}

// ojobs: how jobs stand.   KEYS completed, failed   ARGV what the keys of the queue's jobs begin with, id...
// -> 0: not there, 1: it waits or runs, 2: it is over...
const OJOBS = `
local states = {}
for i = 2, #ARGV do
  if redis.call('EXISTS', ARGV[1] .. ARGV[i]) == 0 then states[i - 1] = 0
  elseif redis.call('ZSCORE', KEYS[1], ARGV[i]) or redis.call('ZSCORE', KEYS[2], ARGV[i]) then states[i - 1] = 2
  else states[i - 1] = 1 end
end
return states
`;

export const JOB_SCRIPTS = { ojobs: { numberOfKeys: 2, lua: OJOBS } } as const;
