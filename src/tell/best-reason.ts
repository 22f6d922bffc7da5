/** An error of a server: `NOAUTH Authentication required.` */
const OF_SERVER = /^[A-Z]{2,}\S* \S/;

/** Errors of this program and of ioredis that only report the absence of an answer. */
const GENERIC =
  /^(connection closed|Connection is closed|not connected|the connection to Redis was lost|a node of the Cluster is away|no response|Command timed out|Failed to refresh slots cache|None of startup nodes|Cluster is|All sentinels are unreachable)/i;

/** How much a reason explains: the server's words most, then the system's, then "no connection". */
function rankOf(reason: string): number {
  if (OF_SERVER.test(reason)) return 2;
  return GENERIC.test(reason) ? 0 : 1;
}

/** True if a reason explains more than the known one; an empty one explains nothing. */
export const explainsMore = (known: string, reason: string): boolean =>
  reason !== '' && (known === '' || rankOf(reason) > rankOf(known));

/** The reason of an outage that explains most; of two equal ones, the newer. */
export const betterReason = (known: string, reason: string): string =>
  reason === '' || explainsMore(reason, known) ? known : reason;
