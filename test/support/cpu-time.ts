/** The CPU time of a call, in microseconds: the wall clock also counts other processes. */
export function cpuMicroseconds(call: () => unknown): number {
  const before = process.cpuUsage();
  call();
  const { user, system } = process.cpuUsage(before);
  return user + system;
}
