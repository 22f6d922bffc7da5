import { Session } from 'node:inspector/promises';

const SOURCE = new URL('../../src/', import.meta.url).href;
const TOOLS = new URL('tools/', SOURCE).href;

/** The amount of code that ran. */
export interface Flow {
  readonly files: number;
  readonly functions: number;
}

/** The same, with the functions that have a name: `answer/load.ts load`. */
export interface RecordedFlow extends Flow {
  readonly names: readonly string[];
}

/** Counts the files and functions of `src` without `tools` that run during `run`, and in the work that it leaves. */
export async function recordFlow(run: () => Promise<unknown>): Promise<RecordedFlow> {
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
      .map(({ url, functions }) => ({
        file: url.slice(SOURCE.length),
        functions: functions.filter(({ ranges }) => ranges.some(({ count }) => count > 0)),
      }))
      .filter(({ functions }) => functions.length > 0);
    const names = ran.flatMap(({ file, functions }) =>
      functions.flatMap(({ functionName }) => (functionName === '' ? [] : `${file} ${functionName}`)),
    );
    return { files: ran.length, functions: ran.reduce((sum, { functions }) => sum + functions.length, 0), names };
  } finally {
    session.disconnect();
  }
}
