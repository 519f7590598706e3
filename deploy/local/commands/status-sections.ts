import type { CommandContext } from '../../../cli/command.ts';
import { reconciliationSection } from './reconciliation-section.ts';
import type { Ready } from '../../../cli/stack/ready.ts';

/** Something that the status tells beside the parts: a row here, under its name in the JSON. */
export interface StatusSection {
  name: string;
  /**
   * Bounded by the reader itself: the status answers within seconds. Undefined: not to be had now.
   */
  read(question: {
    context: CommandContext;
    ready: Ready | undefined;
    account: string | undefined;
  }): Promise<unknown>;
  /** Lines for people. */
  show(value: unknown): string[];
}

export const sections: readonly StatusSection[] = [reconciliationSection];
