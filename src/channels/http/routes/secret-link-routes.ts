import { buildSecretRequestSchema } from '../../../protocol/build-api.ts'
import { readLimitedText } from '../guards/body-size-guard.ts'
import { linkOf } from '../guards/link-guard.ts'
import { defineRoute, type Route } from '../route.ts'
import type { SecretLinks } from '../secret-links/secret-links.ts'
import { noSuchLink, secretForm, secretKept } from '../secret-links/secret-page.ts'

// The longest secret, were every character of it of four bytes and each written as `%XX`.
const maxFormBytes = 16_384 * 12 + 100

/** Where a browser leaves a secret that a build asks for. The link in the path says who it is from. */
export function createSecretLinkRoutes(secretLinks: Pick<SecretLinks, 'asked' | 'give'>): Route[] {
  const path = '/secret/:token'
  const auth = 'link'
  const link = 'secret'
  const scope = 'read'
  const mediaTypes = ['text/html']

  return [
    defineRoute({
      method: 'GET',
      path,
      summary: 'A form for the secret that a link of one use was made for.',
      auth,
      link,
      scope,
      reply: { status: 200, mediaTypes },
      async handle({ context }) {
        const asked = await secretLinks.asked(linkOf(context).link)
        return asked ? secretForm(asked) : noSuchLink()
      },
    }),
    defineRoute({
      method: 'POST',
      path,
      summary: 'Keep the secret, as the form sends it. The link is used up.',
      auth,
      link,
      scope,
      rawBody: { mediaTypes: ['application/x-www-form-urlencoded'], maxBytes: maxFormBytes },
      reply: { status: 200, mediaTypes },
      async handle({ context }) {
        const { link, token } = linkOf(context)
        const form = new URLSearchParams(await readLimitedText(context, maxFormBytes))
        const asked = await secretLinks.asked(link)
        if (!asked) return noSuchLink()
        const value = (form.get('value') ?? '').trim()
        const given = buildSecretRequestSchema.safeParse({ value })
        if (!given.success)
          return secretForm(asked, value === '' ? 'Nothing was entered.' : 'This is too long for a secret.')
        return (await secretLinks.give(token, given.data.value)) ? secretKept() : noSuchLink()
      },
    }),
  ]
}
