import { randomUUID } from 'node:crypto'
import { parseAnyJson } from '../../base/json.ts'
import { estimateTokens } from '../../base/tokens.ts'
import { FamiliarError } from '../../protocol/errors.ts'
import {
  type ChatCompletionReply,
  type ChatCompletionRequest,
  type OpenAiContentPart,
  type OpenAiMessage,
  openAi,
  type TextCompletionReply,
} from '../../protocol/openai.ts'
import type { SentEvent, StreamReply } from '../chat-replies.ts'
import type { HttpContext, HttpDependencies } from '../dependencies.ts'
import { callerOf } from '../guards.ts'
import { jsonReply } from '../replies.ts'
import { handle, type Route } from '../route.ts'
import type { AskedTurn, BeginTurn } from './begin-turn.ts'
import {
  type AnswerFormat,
  type ClientList,
  chosenModel,
  encodedFile,
  formatBlock,
  type ListedFile,
  type ListItem,
  listedContent,
  listedFile,
  type OpenAiServices,
  readTools,
  refuseFileId,
  toClientList,
  toOpenAiError,
} from './client-list.ts'
import clientTasks from './client-tasks.json' with { type: 'json' }
import {
  type BegunTurn,
  type CompletionHead,
  completionCalls,
  completionReply,
  completionUsage,
  extrasOf,
  finishReason,
  type ReplyEvent,
  type TurnOver,
  turnHeaders,
  waitForOver,
  wantsThinking,
  watchReply,
} from './watch-reply.ts'

export function createCompletionRoutes(
  dependencies: HttpDependencies,
  { services, beginTurn, streamReply }: { services: OpenAiServices; beginTurn: BeginTurn; streamReply: StreamReply },
): Route[] {
  const tasks = createTaskReplies(dependencies, { services, streamReply })

  function headOf(id: string, model: string): CompletionHead {
    return { id: `chatcmpl-${id}`, created: Math.floor(dependencies.clock.now() / 1_000), model }
  }

  function watch(context: HttpContext, body: ChatCompletionRequest, asked: AskedTurn): Promise<Response> {
    return streamReply(
      callerOf(context).userId,
      async (signal) => {
        const begun = await beginTurn(context, asked)
        const events = completionStream(watchReply(dependencies, begun, signal), {
          head: headOf(begun.messageId, body.model),
          begun,
          includeUsage: body.stream_options?.include_usage ?? false,
          includeThinking: wantsThinking(context),
        })
        return { events, headers: turnHeaders(begun) }
      },
      (error) => ({ data: toOpenAiError(error) }),
    )
  }

  return [
    tasks.completions,
    handle(openAi.chatCompletion, async ({ userId, context, body, signal }) => {
      const task = readTask(body)
      if (task) {
        chosenModel(services, userId, body.model)
        return tasks.answerTask(context, body, task)
      }
      const asked = readRequest(services, userId, body)
      if (body.stream) return watch(context, body, asked)
      const begun = await beginTurn(context, asked)
      const over = await waitForOver(dependencies, begun, signal)
      const reply = completionReply(headOf(begun.messageId, body.model), begun, over)
      return jsonReply(reply, { headers: turnHeaders(begun) })
    }),
  ]
}

function readRequest(services: OpenAiServices, userId: string, body: ChatCompletionRequest): AskedTurn {
  const { tool_choice: choice } = body
  const offered = (body.tools ?? []).map((tool) => tool.function)
  return {
    list: readMessages(body.messages),
    model: chosenModel(services, userId, body.model),
    use: readTools(offered, choice && typeof choice === 'object' ? choice.function : choice),
    format: formatOf(body.response_format),
    user: body.user,
  }
}

function formatOf(format: ChatCompletionRequest['response_format']): AnswerFormat {
  if (!format || format.type === 'text') return { kind: 'text' }
  return { kind: 'json', schema: format.type === 'json_schema' ? format.json_schema.schema : undefined }
}

/** The chunks of `chat.completion.chunk`, in OpenAI's order: role, text, finish reason, usage, end. */
async function* completionStream(
  events: AsyncIterable<ReplyEvent>,
  options: { head: CompletionHead; begun: BegunTurn; includeUsage: boolean; includeThinking: boolean },
): AsyncGenerator<SentEvent> {
  const { head, begun, includeUsage, includeThinking } = options

  function chunk(delta: object, over?: TurnOver): SentEvent {
    const choice = { index: 0, delta, logprobs: null, finish_reason: over ? finishReason(over) : null }
    return piece({
      choices: [choice],
      ...(includeUsage && { usage: null }),
      ...(over && { familiar: extrasOf(begun, over) }),
    })
  }

  function piece(more: object): SentEvent {
    return { data: { ...head, object: 'chat.completion.chunk', ...more } }
  }

  yield chunk({ role: 'assistant', content: '', refusal: null })
  for await (const event of events) {
    if (event.type === 'text') yield chunk({ content: event.text })
    else if (event.type === 'thinking') {
      if (includeThinking) yield chunk({ reasoning_content: event.text })
    } else {
      if (event.type === 'asks') {
        yield chunk({ tool_calls: completionCalls(begun, event).map((call, index) => ({ index, ...call })) })
      }
      yield chunk({}, event)
      if (includeUsage) yield piece({ choices: [], usage: completionUsage(event), familiar: extrasOf(begun, event) })
      yield { data: '[DONE]' }
    }
  }
}

/** The list of `/v1/chat/completions`. */
export function readMessages(messages: readonly OpenAiMessage[]): ClientList {
  return toClientList(messages.map(toItem), 'messages')
}

function toItem(message: OpenAiMessage, index: number): ListItem {
  const where = `messages.${index}.content`
  switch (message.role) {
    case 'system':
    case 'developer':
      return { kind: 'instructions', text: contentOf(message.content, where).text }
    case 'user':
      return { kind: 'user', content: contentOf(message.content, where) }
    case 'assistant': {
      const calls = (message.tool_calls ?? []).map(({ id, function: called }) => ({ id, ...called }))
      return { kind: 'assistant', text: contentOf(message.content ?? '', where).text, calls }
    }
    case 'tool':
      return { kind: 'result', callId: message.tool_call_id, text: contentOf(message.content, where).text }
  }
}

function contentOf(content: string | readonly OpenAiContentPart[], where: string) {
  return listedContent(content, where, readPart)
}

function readPart(part: OpenAiContentPart, where: string): string | ListedFile {
  switch (part.type) {
    case 'text':
      return part.text
    case 'refusal':
      return part.refusal
    case 'image_url': {
      const { image_url: image } = part
      return listedFile(typeof image === 'string' ? image : image.url, {
        name: 'image',
        where: `${where}.image_url.url`,
      })
    }
    case 'input_audio':
      return encodedFile(part.input_audio.data, `audio.${part.input_audio.format}`)
    case 'file': {
      const { file_data, filename } = part.file
      return file_data ? encodedFile(file_data, filename ?? 'file') : refuseFileId(`${where}.file`)
    }
  }
}

/**
 * Patterns of the prompts that chat programs send in the background, in the message or in the instructions. The prompt of
 * Open WebUI for an answer from documents starts with "### Task:" as well, but is the user's own question.
 */
const patternsOf = (byProgram: Record<string, string[]>) =>
  Object.values(byProgram).flatMap((patterns) => patterns.map((pattern) => new RegExp(pattern, 'i')))
const taskBeginnings = patternsOf(clientTasks.beginnings)
const taskInstructions = patternsOf(clientTasks.instructions)

interface Task {
  system: string
  text: string
  /** The client reads the answer as the arguments of this tool. */
  tool?: string
}

/** A background request of the client (a title, tags), as one text; undefined for a message of the user. */
function readTask(body: ChatCompletionRequest): Task | undefined {
  const { tools, tool_choice: choice } = body
  const [tool] = tools ?? []
  // A client that forces its only tool wants JSON, not an action.
  const isForm = tools?.length === 1 && typeof choice === 'object' && choice?.function.name === tool?.function.name
  if (tool && !isForm) return undefined
  const said = taskTextOf(body)
  if (!said) return undefined
  const format: AnswerFormat = tool
    ? { kind: 'json', schema: tool.function.parameters ?? undefined }
    : formatOf(body.response_format)
  const system = [said.system || taskSystem, ...formatBlock(format)]
  return { system: system.join('\n\n'), text: said.text, ...(tool && { tool: tool.function.name }) }
}

function taskTextOf({ messages }: ChatCompletionRequest): { system: string; text: string } | undefined {
  // Older versions of LibreChat send only instructions.
  if (messages.every(({ role }) => role === 'system' || role === 'developer')) {
    const { instructions: text } = readMessages([...messages, { role: 'user', content: '' }])
    return isTaskText(text) ? { system: '', text } : undefined
  }
  const { instructions, past, newest } = readMessages(messages)
  const { text, files } = newest.said
  if (past.length > 0 || files.length > 0) return undefined
  const isTask = isTaskText(text) || taskInstructions.some((pattern) => pattern.test(instructions))
  return isTask ? { system: instructions, text } : undefined
}

function isTaskText(text: string): boolean {
  return taskBeginnings.some((pattern) => pattern.test(text.trimStart()))
}

const taskSystem = 'You do one small task for a chat program. Answer with only the requested text.'
const continueSystem = 'Continue the given text. Answer with only the continuation: no comment, no quotes.'

/** Answers with the fast model, outside any session. Nothing is stored. */
function createTaskReplies(
  { clock }: Pick<HttpDependencies, 'clock'>,
  { services, streamReply }: { services: OpenAiServices; streamReply: StreamReply },
) {
  async function ask(context: HttpContext, asked: { system: string; text: string; purpose: string }): Promise<string> {
    const { userId } = callerOf(context)
    const answer = await services.askModel({ ...asked, userId, sessionId: null, signal: context.req.raw.signal })
    if (answer.ok) return answer.text
    const codes = {
      no_model: 'unavailable',
      budget: 'rate_limited',
      aborted: 'unavailable',
      failed: 'provider_error',
    } as const
    throw new FamiliarError(codes[answer.reason], answer.message)
  }

  function headOf(prefix: string, model: string) {
    return { id: `${prefix}-${randomUUID()}`, created: Math.floor(clock.now() / 1_000), model }
  }

  async function answerTask(context: HttpContext, body: ChatCompletionRequest, task: Task): Promise<Response> {
    const head = headOf('chatcmpl', body.model)
    const answer = async () => {
      const text = await ask(context, { system: task.system, text: task.text, purpose: 'client_task' })
      const given = task.tool === undefined ? undefined : jsonIn(text)
      if (given === undefined) return { text, message: { content: text }, finish: 'stop' } as const
      const called = { name: task.tool ?? '', arguments: given }
      const call = { id: `call_${randomUUID()}`, type: 'function' as const, function: called }
      return { text, message: { content: null, tool_calls: [call] }, finish: 'tool_calls' as const }
    }
    if (body.stream) {
      const piece = (delta: object, finish: string | null) => ({
        data: {
          ...head,
          object: 'chat.completion.chunk',
          choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
        },
      })
      return streamed(context, async function* () {
        const { message, finish } = await answer()
        const calls = message.tool_calls?.map((call, index) => ({ index, ...call }))
        yield piece({ role: 'assistant', ...message, ...(calls && { tool_calls: calls }) }, null)
        yield piece({}, finish)
      })
    }
    const { text, message, finish } = await answer()
    const reply: ChatCompletionReply = {
      ...head,
      object: 'chat.completion',
      choices: [
        { index: 0, message: { role: 'assistant', ...message, refusal: null }, logprobs: null, finish_reason: finish },
      ],
      usage: {
        ...estimatedUsage(`${task.system}\n${task.text}`, text),
        prompt_tokens_details: { cached_tokens: 0 },
      },
      familiar: { session_id: '', turn_id: '', cost_usd: null },
    }
    return jsonReply(reply)
  }

  function streamed(context: HttpContext, pieces: () => AsyncGenerator<SentEvent>): Promise<Response> {
    return streamReply(
      callerOf(context).userId,
      async () => ({
        events: (async function* () {
          yield* pieces()
          yield { data: '[DONE]' }
        })(),
      }),
      (error) => ({ data: toOpenAiError(error) }),
    )
  }

  const completions = handle(openAi.completion, async ({ userId, context, body }) => {
    chosenModel(services, userId, body.model)
    const head = { ...headOf('cmpl', body.model), object: 'text_completion' as const }
    const after = body.suffix ? `\n[The text after the continuation:]\n${body.suffix}` : ''
    const prompts = typeof body.prompt === 'string' ? [body.prompt] : body.prompt
    const texts: string[] = []
    const usage = () => estimatedUsage(prompts.join('\n'), texts.join('\n'))
    const choice = (index: number, text: string) => ({ index, text, logprobs: null })
    const continueText = async (prompt: string) => {
      const text = await ask(context, { system: continueSystem, text: `${prompt}${after}`, purpose: 'completion' })
      const whole = body.echo ? `${prompt}${text}` : text
      texts.push(whole)
      return whole
    }
    if (body.stream) {
      return streamed(context, async function* () {
        for (const [index, prompt] of prompts.entries()) {
          const text = await continueText(prompt)
          yield { data: { ...head, choices: [{ ...choice(index, text), finish_reason: null }] } }
          yield { data: { ...head, choices: [{ ...choice(index, ''), finish_reason: 'stop' }] } }
        }
        if (body.stream_options?.include_usage) yield { data: { ...head, choices: [], usage: usage() } }
      })
    }
    for (const prompt of prompts) await continueText(prompt)
    const choices = texts.map((text, index) => ({ ...choice(index, text), finish_reason: 'stop' as const }))
    return jsonReply({ ...head, choices, usage: usage() } satisfies TextCompletionReply)
  })

  return { answerTask, completions }
}

/** The JSON object of an answer, without a code fence around it. */
function jsonIn(answer: string): string | undefined {
  const text = answer.slice(answer.indexOf('{'), answer.lastIndexOf('}') + 1)
  const read = parseAnyJson(text)
  return read.ok && typeof read.value === 'object' ? text : undefined
}

function estimatedUsage(asked: string, answered: string) {
  const input = estimateTokens(asked)
  const output = estimateTokens(answered)
  return { prompt_tokens: input, completion_tokens: output, total_tokens: input + output }
}
