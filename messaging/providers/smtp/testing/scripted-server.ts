import { createServer, type Socket } from 'node:net';
import { listen } from '../../../../platform/outbound/receivers.ts';

/** A reply; `cut`: the connection is cut instead; `silent`: nothing is answered. */
type Reply = string;

export interface Script {
  greeting?: Reply;
  /** Lines after the first one of the answer to EHLO. */
  extensions?: readonly string[];
  AUTH?: Reply;
  MAIL?: Reply;
  RCPT?: Reply;
  DATA?: Reply;
  /** To the message. */
  content?: Reply;
  RSET?: Reply;
  /** Called when the message has arrived, before it is answered. */
  onContent?: () => void;
}

/** An SMTP server that answers as a script says, and records what it gets. */
export async function scriptedServer(
  script: Script,
): Promise<{ port: number; commands: string[]; contents: string[]; connections: () => number }> {
  const commands: string[] = [];
  const contents: string[] = [];
  let connections = 0;
  const server = createServer((socket) => {
    connections++;
    socket.on('error', () => undefined);
    let hasRecipient = false;
    const answer = (reply: Reply) => {
      if (reply === 'cut') socket.destroy();
      else if (reply !== 'silent') socket.write(`${reply}\r\n`);
    };
    answer(script.greeting ?? '220 mx.example ESMTP');
    readLines(socket, (line, isContent) => {
      if (isContent) {
        contents.push(line);
        script.onContent?.();
        answer(script.content ?? '250 2.0.0 Ok: queued as 4F1K2X');
        return false;
      }
      commands.push(line);
      const verb = line.split(' ', 1)[0]?.toUpperCase() ?? '';
      const isRefused = verb === 'DATA' && !hasRecipient;
      const reply = isRefused ? '503 5.5.1 no valid recipients' : replyTo(script, verb);
      if (verb === 'RCPT') hasRecipient = reply.startsWith('2');
      answer(reply);
      return verb === 'DATA' && reply.startsWith('354');
    });
  });
  return { port: await listen(server), commands, contents, connections: () => connections };
}

function replyTo(script: Script, verb: string): Reply {
  switch (verb) {
    case 'EHLO':
      return ['mx.example', ...(script.extensions ?? ['PIPELINING'])]
        .map((line, at, all) => `250${at === all.length - 1 ? ' ' : '-'}${line}`)
        .join('\r\n');
    case 'AUTH':
      return script.AUTH ?? '235 2.7.0 ok';
    case 'MAIL':
      return script.MAIL ?? '250 2.1.0 ok';
    case 'RCPT':
      return script.RCPT ?? '250 2.1.5 ok';
    case 'DATA':
      return script.DATA ?? '354 go on';
    case 'RSET':
      return script.RSET ?? '250 ok';
    case 'QUIT':
      return '221 bye';
    default:
      return '500 what?';
  }
}

/** `on` returns whether the message follows, which ends with a dot. */
function readLines(socket: Socket, on: (line: string, isContent: boolean) => boolean): void {
  let buffer = '';
  let isContent = false;
  socket.on('data', (data) => {
    buffer += data.toString();
    for (;;) {
      const end = buffer.indexOf(isContent ? '\r\n.\r\n' : '\r\n');
      if (end < 0) return;
      const line = buffer.slice(0, end);
      buffer = buffer.slice(end + (isContent ? 5 : 2));
      isContent = on(line, isContent);
    }
  });
}
