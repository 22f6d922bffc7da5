/** The CPU time that a call takes, in microseconds: the wall clock also counts what other processes take. */
export function cpuMicroseconds(call: () => unknown): number {
  const before = process.cpuUsage();
  call();
  const { user, system } = process.cpuUsage(before);
  return user + system;
}
