/** Everything that stands before a handler, in the order in which it is asked. */
export const guardNames = [
  'host',
  'origin',
  'rate_limit',
  'token',
  'failed_logins',
  'method',
  'scope',
  'owner',
  'local',
  'content_type',
  'body_size',
  'body_load',
  'signature',
  'link',
] as const

export type GuardName = (typeof guardNames)[number]
