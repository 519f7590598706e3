import { readDefinition, type GroupNode } from './definition.ts';

/** The state of the builder, as its URL has it; nothing: the segment as it is stored. */
export interface SegmentSearch {
  definition?: GroupNode;
}

export function readSegmentSearch({ definition }: Record<string, unknown>): SegmentSearch {
  return definition === undefined ? {} : { definition: readDefinition(definition) };
}
