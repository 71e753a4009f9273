import type { AccessTokens } from '../../../policy/access-tokens.ts'
import type { User, Users } from '../../../policy/users/users.ts'
import { emptyRequestSchema } from '../../../protocol/api.ts'
import { FamiliarError } from '../../../protocol/error.ts'
import {
  type MadeTokenReply,
  madeTokenReplySchema,
  type TokenReply,
  type TokensReply,
  tokenCreateRequestSchema,
  tokenReplySchema,
  tokensQuerySchema,
  tokensReplySchema,
} from '../../../protocol/token-api.ts'
import { isoTime } from '../iso-time.ts'
import { jsonReply } from '../json-reply.ts'
import { defineRoute, type Route } from '../route.ts'

type Tokens = Pick<AccessTokens, 'createToken' | 'list' | 'revoke'>
type ListedToken = Awaited<ReturnType<Tokens['list']>>[number]

const base = '/api/v1/local/tokens'
/** Whoever holds a token could make more of them: these answer this machine's own command line alone. */
const ownerAtHome = { auth: 'token', scope: 'owner', isOwners: true, isLocal: true } as const

/** Tokens of the users of this home: what each allows, a further one, and the end of one. None is shown twice. */
export function createTokenRoutes(users: Pick<Users, 'list' | 'named' | 'isOwner'>, tokens: Tokens): Route[] {
  function owner(): User {
    const found = users.list().find(({ id }) => users.isOwner(id))
    if (!found) throw new FamiliarError('not_found', 'This home has no owner yet')
    return found
  }

  async function listed(of: readonly User[]): Promise<TokenReply[]> {
    const lists = await Promise.all(of.map(async (user) => (await tokens.list(user.id)).map(replyOf(user))))
    return lists.flat()
  }

  return [
    defineRoute({
      ...ownerAtHome,
      method: 'GET',
      path: base,
      summary: 'The tokens that are valid, by their ids; never the tokens themselves.',
      query: tokensQuerySchema,
      reply: { status: 200, schema: tokensReplySchema },
      async handle({ query }) {
        const of = query.user === undefined ? users.list() : [users.named(query.user)]
        return jsonReply({ tokens: await listed(of) } satisfies TokensReply)
      },
    }),
    defineRoute({
      ...ownerAtHome,
      method: 'POST',
      path: base,
      summary: 'Make a further token of a user. Shown this once.',
      body: tokenCreateRequestSchema,
      reply: { status: 201, schema: madeTokenReplySchema, showsSecret: true },
      async handle({ body }) {
        const user = body.user === undefined ? owner() : users.named(body.user)
        const { tokenId, token } = await tokens.createToken(user.id, body.scope)
        const made = (await tokens.list(user.id)).find((one) => one.tokenId === tokenId)
        if (!made) throw new FamiliarError('conflict', 'The token was revoked while it was made')
        return jsonReply({ ...replyOf(user)(made), token } satisfies MadeTokenReply, { status: 201 })
      },
    }),
    defineRoute({
      ...ownerAtHome,
      method: 'POST',
      path: `${base}/:id/revoke`,
      summary: 'Refuse a token from now on.',
      body: emptyRequestSchema,
      reply: { status: 200, schema: tokenReplySchema },
      async handle({ context }) {
        const id = context.req.param('id') ?? ''
        const known = (await listed(users.list())).find((one) => one.id === id)
        if (!known) throw new FamiliarError('not_found', `There is no token ${JSON.stringify(id.slice(0, 200))}`)
        if (id.startsWith('environment-')) {
          throw new FamiliarError('conflict', 'This one is what FAMILIAR_TOKEN holds: change or remove it there.')
        }
        await tokens.revoke(id)
        return jsonReply(known satisfies TokenReply)
      },
    }),
  ]
}

function replyOf({ name }: User): (token: ListedToken) => TokenReply {
  return ({ tokenId, scope, createdAt }) => ({ id: tokenId, user: name, scope, created_at: isoTime(createdAt) })
}
