import { queryOptions } from '@tanstack/react-query';
import type {
  Frequency,
  OnsiteField,
  OnsiteKind,
  UrlCondition,
} from '../../../../events/channels/onsite/definition.ts';
import { api } from '../../shared/api/request.ts';

/** The content that the panel writes; campaigns of operators may have any other. */
export interface OnsiteContent {
  title?: string;
  text?: string;
  button?: { text: string; url: string };
}

export interface OnsiteCampaign {
  id: number;
  name: string;
  definition: {
    kind: OnsiteKind;
    content: unknown;
    fields: readonly OnsiteField[];
    url: readonly UrlCondition[];
    frequency: Frequency;
  };
  has_audience: boolean;
  enabled: boolean;
  starts_at: string | null;
  ends_at: string | null;
  created_at: string;
}

export const KINDS: readonly OnsiteKind[] = ['popup', 'banner', 'survey', 'form'];
export const FREQUENCIES: readonly Frequency[] = ['once', 'session', 'always'];

export const onsiteQuery = queryOptions({
  queryKey: ['onsite'],
  queryFn: ({ signal }) => api<{ campaigns: OnsiteCampaign[] }>('/v1/onsite-campaigns', { signal }),
});

/** The texts that a preview can show of any content. */
export function contentOf(content: unknown): OnsiteContent {
  if (typeof content !== 'object' || content === null) return {};
  const { title, text, button } = content as Record<string, unknown>;
  const { text: label, url } = (typeof button === 'object' && button ? button : {}) as Record<
    string,
    unknown
  >;
  return {
    ...(typeof title === 'string' ? { title } : {}),
    ...(typeof text === 'string' ? { text } : {}),
    ...(typeof label === 'string' && label !== ''
      ? { button: { text: label, url: typeof url === 'string' ? url : '' } }
      : {}),
  };
}
