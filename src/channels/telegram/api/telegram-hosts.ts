import type { AllowedHost } from '../../../egress/destination.ts'

const telegramItself = 'https://api.telegram.org'

/** A server of the Bot API that the owner runs may lie on their own network; Telegram itself is on the internet. */
export function telegramHosts(apiRoot: string): AllowedHost[] {
  if (apiRoot === telegramItself) return []
  const { hostname, port, protocol } = new URL(apiRoot)
  return [{ host: hostname, port: Number(port) || (protocol === 'http:' ? 80 : 443) }]
}
