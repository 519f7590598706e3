import { REQUIRED } from '../../cli/arguments.ts';
import { readAddresses } from '../../platform/addresses/read-addresses.ts';
import { adminCommand, idOption } from './command.ts';

/**
 * `./ravand admin addresses`: by what a person can be reached under any of their names, what was
 * ended and why, and what they want to receive.
 */
export const addresses = adminCommand({
  name: 'addresses',
  usage: 'addresses --account ID --user-id U',
  options: { account: REQUIRED, 'user-id': REQUIRED },
  async run({ values }, { database }) {
    const accountId = idOption(values, 'account');
    const found = await readAddresses(database, { accountId, userId: values['user-id'] });
    return {
      addresses: found.addresses.map(({ updatedAt, ...address }) => ({
        ...address,
        updated_at: new Date(updatedAt).toISOString(),
      })),
      consents: found.consents,
    };
  },
});
