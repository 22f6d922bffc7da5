import { OPERATIONS, type Operation } from './operations.ts';

/** The name of an operation of the list in `operations.ts`. */
export type OperationName = Operation['name'];

/** The names of all operations. */
export const OPERATION_NAMES: readonly OperationName[] = [...OPERATIONS.values()].map(({ name }) => name);

/** The operations that are always cached. */
export const CACHED_ALWAYS = OPERATION_NAMES.filter((name) => OPERATIONS.get(name)?.isFurther === false);

/**
 * The operations that are cached if a setting names them. A request for one of them with an unknown parameter has no
 * cached form (see `parse-call.ts`); the other operations drop such a parameter.
 */
export const FURTHER = OPERATION_NAMES.filter((name) => OPERATIONS.get(name)?.isFurther === true);
