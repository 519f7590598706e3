import type { CommandContext } from '../../../cli/command.ts';
import { reconciliationSection } from './reconciliation-section.ts';
import type { Ready } from '../../../cli/stack/ready.ts';

/** What the status shows besides the services: a row here, under its name in the JSON. */
export interface StatusSection {
  name: string;
  /**
   * Returns within seconds. Undefined: not available now.
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
