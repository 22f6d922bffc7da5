/** A node of a Cluster cannot be reached. Keys in its slots are not available, all others are. */
export class NodeLost extends Error {}
