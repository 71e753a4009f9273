const subject =
  /^(?:the |this |your |our )?(?:(?:ai|virtual|personal) )?(?:assistant|chatbot|bot|familiar(?! with)|language model|ai (?:model|agent)|agent)(?:['’]s)?\b/i
const machinery =
  /\b(?:tool calls?|function calls?|stack ?traces?|tracebacks?|error (?:messages?|codes?)|status codes?|exit codes?|system prompt|context window|debug(?:ging)? (?:output|log|logs|session|info)|[A-Za-z]+(?:Error|Exception))\b/
// The names of tools, as `store_memory`: no person speaks so.
const toolName = /\b[a-z]+(?:_[a-z]+)+\b/

/**
 * Talk of the agent about itself, its tools, or what went wrong with them: no knowledge about anyone's life. Wishes that
 * the user has about the agent begin with the user and are none.
 */
export function isAboutTheAgent(text: string, agentName?: string): boolean {
  if (subject.test(text) || machinery.test(text) || toolName.test(text)) return true
  if (!agentName) return false
  const start = text.trimStart().toLowerCase()
  const name = agentName.trim().toLowerCase()
  return name !== '' && start.startsWith(name) && !/^[\p{L}\p{N}]/u.test(start.slice(name.length))
}
