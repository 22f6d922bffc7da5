/** A node of a Cluster cannot be reached. Keys in its slots are unavailable, all others are available. */
export class NodeLost extends Error {}
