import { hookSecretReplySchema } from '../../protocol/trigger-api.ts'
import type { CommandHandler } from '../command.ts'
import { withFamiliar } from '../connect.ts'

/** `familiar tools hook NAME`: a new secret for whoever calls a tool's webhook. */
export const makeHook: CommandHandler<{ name: string }> = async (context, input) => {
  const { output } = context
  const { reply, url } = await withFamiliar(context, async ({ transport }, { daemon }) => ({
    reply: await transport.ask(`/tools/${encodeURIComponent(input.name)}/hook`, hookSecretReplySchema, { body: {} }),
    url: daemon?.url,
  }))
  if (input.json) {
    output.printJson({ ...reply, url: url === undefined ? null : `${url}${reply.path}` })
    return undefined
  }
  output.print(reply.secret)
  output.note('Shown this once. A secret that was made before is no longer taken.')
  output.note(`Callers send POST ${url ?? ''}${reply.path} with:`)
  output.note('  x-familiar-timestamp: seconds since 1970')
  output.note('  x-familiar-nonce: 8 to 128 letters, digits, - and _, never twice the same')
  output.note('  x-familiar-signature: hex of HMAC-SHA256 over "TIMESTAMP.NONCE.BODY" with the secret')
  return undefined
}
