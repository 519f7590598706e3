import * as setting from '../setting-kinds.ts';
import { defineSettings } from '../settings.ts';

/** Where the tokens of SASL OAUTHBEARER come from (tokens.ts). */
export const oauthSettings = defineSettings({
  KAFKA_OAUTH_TOKEN_URL: {
    ...setting.url({
      default: '',
      protocols: ['https:', 'http:'],
      doc: 'Token endpoint of the authorization server, which is asked with the client credentials grant (RFC 6749, 4.4).',
    }),
  },
  KAFKA_OAUTH_CLIENT_ID: setting.text({ default: '', doc: 'Client id at KAFKA_OAUTH_TOKEN_URL.' }),
  KAFKA_OAUTH_CLIENT_SECRET: setting.text({
    default: '',
    doc: 'Client secret at KAFKA_OAUTH_TOKEN_URL.',
    secret: true,
  }),
  KAFKA_OAUTH_SCOPE: setting.text({
    default: '',
    doc: 'Scopes that are requested, separated by spaces; empty: the default of the server.',
  }),
  KAFKA_OAUTH_CA_FILE: setting.pemFile({
    default: '',
    doc: 'Certificates of the authorities that KAFKA_OAUTH_TOKEN_URL is verified with, in a PEM file. Empty: those of Node.js.',
  }),
  KAFKA_OAUTH_TOKEN_PATH: setting.text({
    default: '',
    unit: 'path',
    doc: 'File with a token that something else renews, for example a projected service account token of Kubernetes, instead of KAFKA_OAUTH_TOKEN_URL. It is read again before the token expires.',
  }),
});

/** What is wrong with KAFKA_SASL_MECHANISM beside the other settings of Kafka. */
export function saslProblem(
  mechanism: string,
  values: Readonly<Record<string, unknown>>,
): string | undefined {
  const isSet = (name: string) => (values[name] ?? '') !== '';
  if (mechanism === '')
    return isSet('KAFKA_SASL_USERNAME') || isSet('KAFKA_SASL_PASSWORD')
      ? 'it is empty although KAFKA_SASL_USERNAME or KAFKA_SASL_PASSWORD is set; name the mechanism of the brokers, for example SCRAM-SHA-512'
      : undefined;
  if (mechanism !== 'OAUTHBEARER')
    return isSet('KAFKA_SASL_USERNAME') && isSet('KAFKA_SASL_PASSWORD')
      ? undefined
      : `${mechanism} needs KAFKA_SASL_USERNAME and KAFKA_SASL_PASSWORD; set both`;
  if (isSet('KAFKA_OAUTH_TOKEN_URL') === isSet('KAFKA_OAUTH_TOKEN_PATH'))
    return 'OAUTHBEARER needs tokens; set one of KAFKA_OAUTH_TOKEN_URL and KAFKA_OAUTH_TOKEN_PATH';
  if (isSet('KAFKA_OAUTH_TOKEN_PATH')) return undefined;
  return isSet('KAFKA_OAUTH_CLIENT_ID') && isSet('KAFKA_OAUTH_CLIENT_SECRET')
    ? undefined
    : 'KAFKA_OAUTH_TOKEN_URL needs KAFKA_OAUTH_CLIENT_ID and KAFKA_OAUTH_CLIENT_SECRET; set both';
}
