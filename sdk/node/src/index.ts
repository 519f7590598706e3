export { RavandMessages } from './messages.ts';
export type { Message, MessageResult, RavandMessagesOptions } from './messages.ts';
export { Ravand } from './ravand.ts';
export { RavandError } from './types.ts';
export type {
  AliasCall,
  Balance,
  ErrorCode,
  EventName,
  EventOptions,
  IdentifyCall,
  Identity,
  Listeners,
  PageCall,
  Properties,
  PropertiesOf,
  RavandOptions,
  TrackCall,
} from './types.ts';
