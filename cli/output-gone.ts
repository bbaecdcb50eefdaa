// A reader that leaves early (`odin … | head`) is no error: nothing is printed about it, and who produces output can stop.

const gone = new AbortController();

/** Aborts when nobody reads stdout any more. */
export const outputGone: AbortSignal = gone.signal;

/** Takes the broken pipe of stdout and stderr quietly. Called once, at the start. */
export function guardOutput(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE' && error.code !== 'ERR_STREAM_DESTROYED') throw error;
      if (stream === process.stdout) gone.abort();
    });
  }
}
