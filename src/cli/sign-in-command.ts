import { type SignInLinkRequest, signInLinkReplySchema } from '../protocol/page-api.ts'
import type { CommandHandler } from './command.ts'
import { CommandError, exitCodes } from './command-error.ts'
import { connect } from './connect.ts'

/** A link that signs a browser in to the page of the running daemon. */
export const signIn: CommandHandler<{ user?: string }> = async (context, { json, user }) => {
  const { output } = context
  const connection = await connect(context)
  try {
    if (!connection.daemon) {
      throw new CommandError('Nothing serves the page.', {
        code: 'not_running',
        hint: 'Start it first: familiar serve',
      })
    }
    const { transport } = connection.client
    const body: SignInLinkRequest = user === undefined ? {} : { user }
    const link = await transport.ask('/local/sign-in-link', signInLinkReplySchema, { method: 'POST', body })
    if (json) output.printJson(link)
    else {
      output.print(link.url)
      output.note(output.style('dim', `It works once, within ${link.minutes} minutes.`))
    }
    return exitCodes.fine
  } finally {
    await connection.close()
  }
}
