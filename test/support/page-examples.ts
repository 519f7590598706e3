import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'vitest';
import { eventually } from './stack.ts';

const CHECKOUT = join(import.meta.dirname, '../..');
const execute = promisify(execFile);
const WAIT_MS = 45_000;

export interface Example {
  command: string;
  /** What it prints; undefined when it prints nothing. */
  output: string | undefined;
}

/** The commands of a page, each with what follows it. */
export function examplesOf(path: string): Example[] {
  const page = readFileSync(join(CHECKOUT, path), 'utf8');
  const blocks = [...page.matchAll(/^```console\n([^]*?)^```/gm)].map(([, block = '']) => block);
  return blocks.flatMap((block) =>
    block
      .split(/^\$ /m)
      .slice(1)
      .map((example) => {
        const [command = '', ...output] = example.trimEnd().split('\n');
        return { command, output: output.length === 0 ? undefined : output.join('\n') };
      }),
  );
}

/** Runs the commands of a page in one shell after the other, as a reader would. */
export class PageShell {
  readonly #variables: Record<string, string>;
  #hasFailed = false;

  /** @param variables what the page's introduction names */
  constructor(variables: Record<string, string> = {}) {
    this.#variables = { ...variables };
  }

  /**
   * Runs one command until it prints what the page says, since what a request changed is visible
   * after a moment; `NAME=…` sets a variable. `…` in an output stands for any text within a line.
   */
  async expectOutput({ command, output }: Example): Promise<void> {
    const [, name, value] = /^([A-Z_]+)=(.*)$/.exec(command) ?? [];
    if (name !== undefined && value !== undefined) {
      const text = await this.#run(`printf %s ${value}`);
      expect(text, command).not.toBe('');
      this.#variables[name] = text;
      return;
    }
    let printed = '';
    // After one that failed the others show what they print, too, without waiting for it.
    const ms = this.#hasFailed ? 0 : WAIT_MS;
    await eventually({ ms, every: 500, waitingFor: command }, async () => {
      printed = await this.#run(command);
      return pattern(output ?? '').test(printed) ? true : undefined;
    }).catch((error: unknown) => {
      this.#hasFailed = true;
      expect(printed, String(error)).toBe(output);
    });
  }

  /** What a terminal shows, also when the command fails. */
  async #run(script: string): Promise<string> {
    const options = {
      ...{ cwd: CHECKOUT, timeout: 60_000, env: { ...process.env, ...this.#variables } },
    };
    const { stdout } = await execute('bash', ['-c', `{ ${script}\n} 2>&1`], options).catch(
      (error: unknown) => error as { stdout?: string },
    );
    return (stdout ?? '').trimEnd();
  }
}

function pattern(output: string): RegExp {
  const parts = output.split('…').map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('.+')}$`);
}
