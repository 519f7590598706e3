import type { Home } from './stack/home.ts';
import type { Ready } from './stack/ready.ts';

/** What every command of `./ravand` gets in addition to its arguments. */
export interface CommandContext {
  home: Home;
  /** The checkout that holds the code. */
  checkout: string;
  env: NodeJS.ProcessEnv;
  /** ready.json of the stack that runs under this home; undefined while none is ready. */
  ready: () => Ready | undefined;
}

export interface Command {
  /** One word, or the words of a nested command: "account create". */
  name: string;
  summary: string;
  /** The line behind `./ravand`. */
  usage: string;
  /** Returns the exit code. Throws CommandError when the request cannot be served. */
  run(args: string[], context: CommandContext): Promise<number>;
}

/** The request cannot be served; the message is one sentence for the person who typed it. */
export class CommandError extends Error {
  /** 1: it failed; 2: the line cannot be understood. */
  readonly exitCode: number;
  constructor(message: string, exitCode = 1) {
    super(message);
    this.name = 'CommandError';
    this.exitCode = exitCode;
  }
}

/** The line cannot be understood; main.ts adds the usage of the command. */
export class UsageError extends CommandError {
  constructor(message: string) {
    super(message, 2);
  }
}

/** The command whose name begins the line, and the arguments behind the name. */
export function findCommand<C extends { name: string }>(
  commands: readonly C[],
  args: string[],
): { command: C; rest: string[] } | undefined {
  for (const command of commands) {
    const words = command.name.split(' ');
    if (words.every((word, at) => args[at] === word))
      return { command, rest: args.slice(words.length) };
  }
  return undefined;
}
