import * as api from '../../protocol/user-api.ts'
import type { ApiTransport } from '../api-transport.ts'

/** What can be asked of users over HTTP, typed. */
export interface UsersClient {
  list(): Promise<api.UserReply[]>
  add(request: api.UserAddRequest): Promise<api.UserTokenReply>
  rotate(name: string): Promise<api.UserTokenReply>
  setTier(name: string, tier: string): Promise<api.UserReply>
  remove(name: string, directory: string): Promise<api.UserRemovedReply>
}

export function createUsersClient({ ask }: ApiTransport): UsersClient {
  const one = (name: string, rest: string) => `/local/users/${encodeURIComponent(name)}/${rest}`
  return {
    list: async () => (await ask('/local/users', api.usersReplySchema)).users,
    add: (request) => ask('/local/users', api.userTokenReplySchema, { body: request }),
    rotate: (name) => ask(one(name, 'rotate'), api.userTokenReplySchema, { body: {} }),
    setTier: (name, tier) => ask(one(name, 'tier'), api.userReplySchema, { method: 'PUT', body: { tier } }),
    remove: (name, directory) => ask(one(name, 'remove'), api.userRemovedReplySchema, { body: { directory } }),
  }
}
