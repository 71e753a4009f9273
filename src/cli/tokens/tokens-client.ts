import * as api from '../../protocol/token-api.ts'
import type { ApiTransport } from '../api-transport.ts'

/** What can be asked of tokens over HTTP, typed. */
export interface TokensClient {
  list(user?: string): Promise<api.TokenReply[]>
  create(request: api.TokenCreateRequest): Promise<api.MadeTokenReply>
  revoke(id: string): Promise<api.TokenReply>
}

export function createTokensClient({ ask }: ApiTransport): TokensClient {
  const base = '/local/tokens'
  return {
    async list(user) {
      const query = user === undefined ? '' : `?${new URLSearchParams({ user })}`
      return (await ask(`${base}${query}`, api.tokensReplySchema)).tokens
    },
    create: (request) => ask(base, api.madeTokenReplySchema, { body: request }),
    revoke: (id) => ask(`${base}/${encodeURIComponent(id)}/revoke`, api.tokenReplySchema, { body: {} }),
  }
}
