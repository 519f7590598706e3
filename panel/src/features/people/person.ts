export interface Message {
  message_id: string;
  campaign_id: number;
  channel: string;
  category: string;
  status: string;
  reason: string;
  /** A member tried a template. */
  is_test: boolean;
  finished_at: string;
}

export interface Address {
  channel: string;
  address_id: string;
  registered_at: string;
  /** Empty: active. */
  reason: string;
}

/** The answer of GET /v1/people/{id}. */
export interface Person {
  person: string;
  names: { name: string; joined_to: string | null; joined_at: string | null }[];
  names_cut: boolean;
  addresses: Address[];
  profile: {
    first_seen: string;
    last_seen: string;
    orders: number;
    revenue: number;
    columns: Record<string, string>;
    traits: Record<string, string>;
  } | null;
  messages: Message[];
}

export interface TimelinePage {
  events: {
    received_at: string;
    timestamp: string;
    type: string;
    event: string;
    message_id: string;
    properties: Record<string, string>;
  }[];
  next_before: number | null;
}
