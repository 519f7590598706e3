export type BodyShape = 'single' | 'batch' | 'import';

/** The member of a body that holds its events. */
export const ITEMS_KEY = { batch: 'batch', import: 'events' } as const;

/**
 * What an array or object is. `value`: the value of a property, trait or field of the context, or
 * anything that no rule reads; only such values are pruned, with everything inside them.
 */
export type Role = 'root' | 'batch' | 'item' | 'values' | 'context' | 'part' | 'value';

/**
 * The role of an array or object.
 * @param parent that of the container around it; undefined for the body itself
 * @param key reads the key of its member, when it is one
 */
export function roleOf({
  shape,
  parent,
  isObject,
  key,
}: {
  shape: BodyShape;
  parent: Role | undefined;
  isObject: boolean;
  key: () => string | undefined;
}): Role {
  switch (parent) {
    case undefined:
      return !isObject ? 'value' : shape === 'single' ? 'item' : 'root';
    case 'root': {
      const name = key();
      if (shape !== 'single' && name === ITEMS_KEY[shape]) return isObject ? 'value' : 'batch';
      return isObject && name === 'context' && shape === 'batch' ? 'context' : 'value';
    }
    case 'batch':
      return isObject ? 'item' : 'value';
    case 'item': {
      const name = isObject ? key() : undefined;
      if (name === 'context') return 'context';
      return name === 'properties' || name === 'traits' ? 'values' : 'value';
    }
    case 'context':
      return isObject ? 'part' : 'value';
    default:
      return 'value';
  }
}
