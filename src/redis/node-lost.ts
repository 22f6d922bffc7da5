/** A node of a Cluster is away: keys of its slots cannot be had, and all others can. */
export class NodeLost extends Error {
  override readonly name = 'NodeLost';

  constructor() {
    super('a node of the Cluster is away');
  }
}
