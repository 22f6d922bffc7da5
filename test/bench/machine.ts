import { availableParallelism, cpus } from 'node:os';

/** One line that says on what, and when, the figures were measured. */
export function describeMachine(): string {
  const machine = `${cpus()[0]?.model ?? 'unknown'}, ${availableParallelism()} cores, ${process.platform} ${process.arch}`;
  return `${machine}, Node ${process.version}, ${new Date().toISOString().slice(0, 10)}`;
}
