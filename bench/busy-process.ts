// A process that takes so many milliseconds of a processor every tenth of a second and has nothing to do with Odin: what any neighbour costs
// on a machine whose processors have no more to give (dashboard-cost.ts).

const EVERY_MS = 100;

const ms = Number(process.argv[2]);
const text = JSON.stringify({ w: 'w', e: { type: 'update', text: 'word '.repeat(40), at: 1 } });
setInterval(() => {
  const before = process.threadCpuUsage();
  for (let spent = 0; spent < 1_000 * ms; ) {
    for (let i = 0; i < 20; i++) JSON.parse(text);
    const { user, system } = process.threadCpuUsage(before);
    spent = user + system;
  }
}, EVERY_MS);
process.stdout.write('ready\n');
