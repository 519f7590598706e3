import { createServer, type AddressInfo } from 'node:net';

/**
 * An SMTP server that accepts every mail as soon as it has arrived and keeps nothing. Sends its
 * port to its parent, and the number of mails on demand.
 */
const END = Buffer.from('\r\n.\r\n');
let mails = 0;

const server = createServer((socket) => {
  socket.setNoDelay(true);
  socket.on('error', () => undefined);
  socket.write('220 null\r\n');
  let isContent = false;
  let rest: Buffer = Buffer.alloc(0);
  socket.on('data', (data) => {
    rest = rest.length === 0 ? data : Buffer.concat([rest, data]);
    let answers = '';
    for (;;) {
      const at = isContent ? rest.indexOf(END) : rest.indexOf('\n');
      if (at < 0) break;
      if (isContent) {
        mails++;
        isContent = false;
        answers += '250 ok\r\n';
        rest = rest.subarray(at + END.length);
        continue;
      }
      const verb = rest.toString('latin1', 0, 4);
      isContent = verb === 'DATA';
      answers += isContent
        ? '354 go\r\n'
        : verb === 'EHLO'
          ? '250-null\r\n250 PIPELINING\r\n'
          : '250 ok\r\n';
      rest = rest.subarray(at + 1);
    }
    if (answers !== '') socket.write(answers);
  });
});
server.listen(0, '127.0.0.1', () =>
  process.send?.({ port: (server.address() as AddressInfo).port }),
);
process.on('message', () => process.send?.({ mails }));
process.on('disconnect', () => process.exit(0));
