import { clientTools } from './client-tools.ts'
import { openPrivateStore } from './private-store.ts'
import { isSwitchedOn } from './switch-state.ts'

/** What a message says of this browser's memory. Nothing at all while it is switched off. */
export async function toolsForMessage(userName: string): Promise<{ client_tools?: ReturnType<typeof clientTools> }> {
  if (!isSwitchedOn(userName)) return {}
  const entries = await (await openPrivateStore(userName)).list()
  return { client_tools: clientTools({ sharesSomething: entries.some(({ isShared }) => isShared) }) }
}

/** This browser is the one that is asked in the turn of the message. */
export async function noteSentHere(userName: string, messageId: string): Promise<void> {
  if (isSwitchedOn(userName)) await (await openPrivateStore(userName)).noteSent(messageId)
}
