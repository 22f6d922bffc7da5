import { Session } from 'node:inspector/promises';

const SOURCE = new URL('../../src/', import.meta.url).href;
const TOOLS = new URL('tools/', SOURCE).href;

/** The amount of code that ran. */
export interface Flow {
  readonly files: number;
  readonly functions: number;
}

/** Counts the files and functions of `src` without `tools` that run during `run`, and in the work that it leaves. */
export async function recordFlow(run: () => Promise<unknown>): Promise<Flow> {
  const session = new Session();
  session.connect();
  try {
    await session.post('Profiler.enable');
    await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
    await session.post('Profiler.takePreciseCoverage');
    await run();
    // The log and the metrics of a request follow its answer.
    await new Promise(setImmediate);
    const { result } = await session.post('Profiler.takePreciseCoverage');
    const ran = result
      .filter(({ url }) => url.startsWith(SOURCE) && !url.startsWith(TOOLS))
      .map(({ functions }) => functions.filter(({ ranges }) => ranges.some(({ count }) => count > 0)).length)
      .filter((functions) => functions > 0);
    return { files: ran.length, functions: ran.reduce((sum, functions) => sum + functions, 0) };
  } finally {
    session.disconnect();
  }
}
