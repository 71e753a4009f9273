import { formatTime } from '../base/format.ts'
import { type ApprovalReply, approvalReplySchema, approvalsReplySchema } from '../protocol/approval-api.ts'
import type { ApiClient } from './api-client.ts'
import type { CommandContext, CommandHandler } from './command.ts'
import { CommandError } from './command-error.ts'
import { withFamiliar } from './connect.ts'

/** What waits for the user's word, with everything that it would be given for. */
export const approvals: CommandHandler<object> = async (context, input) => {
  const { output } = context
  const waiting = await withFamiliar(context, pending)
  if (input.json) output.printJson({ approvals: waiting })
  else if (waiting.length === 0) output.print('Nothing waits for your approval.')
  else for (const approval of waiting) describe(context, approval)
  return undefined
}

export const approve: CommandHandler<{ id: string }> = (context, input) => answer(context, input, 'approve')

export const deny: CommandHandler<{ id: string }> = (context, input) => answer(context, input, 'deny')

async function answer(
  context: CommandContext,
  input: { id: string; json?: boolean },
  word: 'approve' | 'deny',
): Promise<undefined> {
  const { output } = context
  const approval = await withFamiliar(
    context,
    async (client) => {
      const id = await idOf(client, input.id)
      const request = { body: { answer: word } }
      return client.transport.ask(`/approvals/${encodeURIComponent(id)}`, approvalReplySchema, request)
    },
    { talks: true },
  )
  if (input.json) output.printJson(approval)
  else if (word === 'approve')
    output.print(`Approved: ${approval.tool}, once and exactly so. Familiar goes on with it.`)
  else output.print(`Denied: ${approval.tool}. Nothing was done.`)
  return undefined
}

/** By its id, or by as much of its beginning as no other has. */
async function idOf(client: ApiClient, name: string): Promise<string> {
  const beginning = (await pending(client)).filter(({ id }) => id.startsWith(name))
  if (beginning.length < 2) return beginning[0]?.id ?? name
  throw new CommandError(`Several requests begin with ${JSON.stringify(name)}.`, {
    code: 'bad_request',
    hint: 'Give the whole id: familiar approvals',
  })
}

async function pending(client: ApiClient): Promise<ApprovalReply[]> {
  return (await client.transport.ask('/approvals', approvalsReplySchema)).approvals
}

function describe({ output }: CommandContext, approval: ApprovalReply): void {
  const { id, tool, destination, reason, session_id, asked_at, expires_at } = approval
  output.print(output.style('bold', `${tool}${destination === null ? '' : ` to ${destination}`}`))
  output.print(`  ${JSON.stringify(approval.arguments)}`)
  output.print(`  ${reason} Asked ${formatTime(asked_at)} in session ${session_id}; until ${formatTime(expires_at)}.`)
  output.print(`  familiar approvals approve ${id}`)
  output.print(`  familiar approvals deny ${id}`)
}
