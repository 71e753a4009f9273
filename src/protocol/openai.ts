import { z } from 'zod'
import { errorReplySchema } from './api.ts'
import type { Json } from './messages.ts'
import { operation } from './operation.ts'

/** OpenAI's API (HTTP-5). Requests are not strict: clients send many options that have no meaning here. */

const maxMessages = 4_000
const maxParts = 1_000
const maxCalls = 256

const name = z.string().max(200)

const textPart = z.object({ type: z.literal('text'), text: z.string() })

/** Some clients send a string instead of the object. */
const imageAddress = z.union(
  [z.string().min(1), z.object({ url: z.string().min(1) })],
  'must be an object with a "url"',
)

const contentPart = z.discriminatedUnion('type', [
  textPart,
  z.object({ type: z.literal('refusal'), refusal: z.string() }),
  z.object({ type: z.literal('image_url'), image_url: imageAddress }),
  z.object({ type: z.literal('input_audio'), input_audio: z.object({ data: z.string(), format: name }) }),
  z.object({
    type: z.literal('file'),
    file: z.object({ file_data: z.string().nullish(), file_id: z.string().nullish(), filename: name.nullish() }),
  }),
])
export type OpenAiContentPart = z.infer<typeof contentPart>

const content = z.union(
  [z.string(), z.array(contentPart).max(maxParts)],
  'must be text, or a list of parts of the types text, image_url, input_audio and file',
)
const plainContent = z.union([z.string(), z.array(textPart).max(maxParts)], 'must be text, or a list of parts of text')

const toolCall = z.object({
  id: z.string().max(400),
  function: z.object({ name, arguments: z.string() }),
})

const message = z.discriminatedUnion('role', [
  z.object({ role: z.literal('system'), content: plainContent }),
  z.object({ role: z.literal('developer'), content: plainContent }),
  z.object({ role: z.literal('user'), content }),
  z.object({
    role: z.literal('assistant'),
    content: content.nullish(),
    tool_calls: z.array(toolCall).max(maxCalls).nullish(),
  }),
  z.object({ role: z.literal('tool'), content: plainContent, tool_call_id: z.string().max(400) }),
])
export type OpenAiMessage = z.infer<typeof message>

const functionType = z.literal('function', 'only functions are supported')
const functionFields = {
  name: z.string(),
  description: z.string().nullish(),
  parameters: z.record(z.string(), z.custom<Json>()).nullish(),
}
const functionTool = z.object({ type: functionType, function: z.object(functionFields) })

const named = z.object({ type: z.literal('function'), function: z.object({ name }) })

const outputFormat = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text') }),
  z.object({ type: z.literal('json_object') }),
  z.object({ type: z.literal('json_schema'), json_schema: z.object({ schema: z.custom<Json>().optional() }) }),
])

/** `temperature`, `top_p`, `max_tokens`, `seed`, `stop` and the like are accepted and have no effect. */
export const chatCompletionRequestSchema = z.object({
  model: name.min(1),
  messages: z.array(message).min(1).max(maxMessages),
  stream: z.boolean().nullish(),
  stream_options: z.object({ include_usage: z.boolean().nullish() }).nullish(),
  tools: z.array(functionTool).nullish(),
  tool_choice: z.union([z.enum(['auto', 'none', 'required']), named]).nullish(),
  response_format: outputFormat.nullish(),
  n: z.literal(1, 'must be 1').nullish(),
  modalities: z.array(z.literal('text', 'must be "text"')).nullish(),
  /** The name of the conversation, if there is no header `familiar-session`. */
  user: z.string().nullish(),
})
export type ChatCompletionRequest = z.infer<typeof chatCompletionRequestSchema>

export const openAiErrorReplySchema = z.object({
  error: z.object({
    message: z.string(),
    type: z.string(),
    param: z.string().nullable(),
    code: z.string().nullable(),
    ...errorReplySchema.omit({ error: true, code: true }).shape,
  }),
})
export type OpenAiErrorReply = z.infer<typeof openAiErrorReplySchema>

/** Fields beyond OpenAI's. The cost is null if a model without a price was used. */
export const openAiExtrasSchema = z.object({
  session_id: z.string(),
  turn_id: z.string(),
  cost_usd: z.number().nullable(),
})
export type OpenAiExtras = z.infer<typeof openAiExtrasSchema>

const completionUsage = z.object({
  prompt_tokens: z.number().int(),
  completion_tokens: z.number().int(),
  total_tokens: z.number().int(),
})

export const chatCompletionReplySchema = z.object({
  id: z.string(),
  object: z.literal('chat.completion'),
  created: z.number().int(),
  model: z.string(),
  choices: z.array(
    z.object({
      index: z.literal(0),
      message: z.object({
        role: z.literal('assistant'),
        content: z.string().nullable(),
        refusal: z.null(),
        tool_calls: z
          .array(
            z.object({
              id: z.string(),
              type: z.literal('function'),
              function: z.object({ name: z.string(), arguments: z.string() }),
            }),
          )
          .optional(),
      }),
      logprobs: z.null(),
      finish_reason: z.enum(['stop', 'tool_calls']),
    }),
  ),
  /** The sum of all calls of the turn; zero while it waits for the client. */
  usage: completionUsage.extend({ prompt_tokens_details: z.object({ cached_tokens: z.number().int() }) }),
  familiar: openAiExtrasSchema,
})
export type ChatCompletionReply = z.infer<typeof chatCompletionReplySchema>

/** Sampling options are accepted and have no effect. */
export const textCompletionRequestSchema = z.looseObject({
  model: name.min(1),
  prompt: z.union([z.string().min(1), z.array(z.string().min(1)).min(1).max(16)], 'must be a text, or 1 to 16 of them'),
  suffix: z.string().nullish(),
  echo: z.boolean().nullish(),
  stream: z.boolean().nullish(),
  stream_options: z.object({ include_usage: z.boolean().nullish() }).nullish(),
})

export const textCompletionReplySchema = z.object({
  id: z.string(),
  object: z.literal('text_completion'),
  created: z.number().int(),
  model: z.string(),
  choices: z.array(
    z.object({ index: z.number().int(), text: z.string(), logprobs: z.null(), finish_reason: z.literal('stop') }),
  ),
  /** Estimated. */
  usage: completionUsage,
})
export type TextCompletionReply = z.infer<typeof textCompletionReplySchema>

export const openAiSpeechRequestSchema = z.looseObject({
  model: name.nullish(),
  input: z.string().min(1).max(4_096),
  voice: z.string().max(100).nullish(),
})

export const openAiTranscriptionReplySchema = z.object({
  text: z.string(),
  task: z.string().optional(),
  language: z.string().optional(),
  duration: z.number().optional(),
})

export const openAiModelReplySchema = z.object({
  id: z.string(),
  object: z.literal('model'),
  created: z.number().int(),
  owned_by: z.string(),
})
export type OpenAiModelReply = z.infer<typeof openAiModelReplySchema>

export const openAiModelsReplySchema = z.object({ object: z.literal('list'), data: z.array(openAiModelReplySchema) })

const maxTexts = 512

export const openAiEmbeddingRequestSchema = z.object({
  model: name.min(1),
  input: z.union(
    [z.string().min(1), z.array(z.string().min(1)).min(1).max(maxTexts)],
    `must be a text, or 1 to ${maxTexts} of them, none empty`,
  ),
  encoding_format: z.enum(['float', 'base64']).nullish(),
  /** It must be the length of the model's vectors, which are not shortened. */
  dimensions: z.number().int().positive().nullish(),
})

export const openAiEmbeddingsReplySchema = z.object({
  object: z.literal('list'),
  model: z.string(),
  data: z.array(
    z.object({
      object: z.literal('embedding'),
      index: z.number().int(),
      /** Numbers, or little-endian 32-bit floats as base64. */
      embedding: z.union([z.array(z.number()), z.string()]),
    }),
  ),
  /** Estimated. */
  usage: z.object({ prompt_tokens: z.number().int(), total_tokens: z.number().int() }),
})

/** `/v1/responses`. Unknown options are ignored. */

const responsesContentPart = z.discriminatedUnion('type', [
  z.object({ type: z.literal('input_text'), text: z.string() }),
  z.object({ type: z.literal('output_text'), text: z.string() }),
  z.object({ type: z.literal('refusal'), refusal: z.string() }),
  z.object({
    type: z.literal('input_image'),
    image_url: z.string().nullish(),
    file_id: z.string().nullish(),
  }),
  z.object({
    type: z.literal('input_file'),
    file_data: z.string().nullish(),
    file_url: z.string().nullish(),
    file_id: z.string().nullish(),
    filename: name.nullish(),
  }),
])
export type ResponseContentPart = z.infer<typeof responsesContentPart>

const responsesContent = z.union(
  [z.string(), z.array(responsesContentPart).max(maxParts)],
  'must be text, or a list of parts of the types input_text, output_text, input_image and input_file',
)

const messageItem = z.object({
  type: z.literal('message').default('message'),
  role: z.enum(['system', 'developer', 'user', 'assistant']),
  content: responsesContent,
})

const item = z.union([
  z.object({
    type: z.literal('function_call'),
    call_id: z.string().max(400),
    name,
    arguments: z.string(),
  }),
  z.object({ type: z.literal('function_call_output'), call_id: z.string().max(400), output: responsesContent }),
  /** Some clients send the reasoning back; it is ignored. */
  z.object({ type: z.literal('reasoning') }),
  messageItem,
])
export type ResponseItem = z.infer<typeof item>

const responsesOutputFormat = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text') }),
  z.object({ type: z.literal('json_object') }),
  z.object({ type: z.literal('json_schema'), schema: z.custom<Json>().optional() }),
])

export const openAiResponseRequestSchema = z.object({
  model: name.min(1),
  input: z.union(
    [z.string().min(1), z.array(item).min(1).max(maxMessages)],
    'must be text, or a list of messages, function_call and function_call_output',
  ),
  instructions: z.string().nullish(),
  /** Continues the session of that response, after it. */
  previous_response_id: z.string().max(200).nullish(),
  stream: z.boolean().nullish(),
  tools: z.array(z.object({ type: functionType, ...functionFields })).nullish(),
  tool_choice: z
    .union([z.enum(['auto', 'none', 'required']), z.object({ type: z.literal('function'), name })])
    .nullish(),
  text: z.object({ format: responsesOutputFormat.nullish() }).nullish(),
  background: z.literal(false, 'is not supported').nullish(),
  user: z.string().nullish(),
})
export type OpenAiResponseRequest = z.infer<typeof openAiResponseRequestSchema>

const outputItem = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('message'),
    id: z.string(),
    role: z.literal('assistant'),
    status: z.enum(['in_progress', 'completed']),
    content: z.array(
      z.object({
        type: z.literal('output_text'),
        text: z.string(),
        annotations: z.array(z.never()),
        logprobs: z.array(z.never()),
      }),
    ),
  }),
  z.object({
    type: z.literal('function_call'),
    id: z.string(),
    call_id: z.string(),
    name: z.string(),
    arguments: z.string(),
    status: z.enum(['in_progress', 'completed']),
  }),
])
export type ResponseOutputItem = z.infer<typeof outputItem>

export const openAiResponseReplySchema = z.object({
  id: z.string(),
  object: z.literal('response'),
  created_at: z.number().int(),
  status: z.enum(['in_progress', 'completed', 'failed']),
  error: z.object({ code: z.string(), message: z.string() }).nullable(),
  incomplete_details: z.null(),
  instructions: z.string().nullable(),
  metadata: z.object({}),
  model: z.string(),
  output: z.array(outputItem),
  parallel_tool_calls: z.literal(true),
  previous_response_id: z.string().nullable(),
  temperature: z.null(),
  top_p: z.null(),
  tool_choice: z.literal('auto'),
  tools: z.array(z.never()),
  usage: z
    .object({
      input_tokens: z.number().int(),
      input_tokens_details: z.object({ cached_tokens: z.number().int(), cache_write_tokens: z.number().int() }),
      output_tokens: z.number().int(),
      output_tokens_details: z.object({ reasoning_tokens: z.number().int() }),
      total_tokens: z.number().int(),
    })
    .nullable(),
  familiar: openAiExtrasSchema,
})
export type OpenAiResponseReply = z.infer<typeof openAiResponseReplySchema>

export const openAiDeletedReplySchema = z.object({
  id: z.string(),
  object: z.literal('response'),
  deleted: z.literal(true),
})

export const openAi = {
  chatCompletion: operation('POST /v1/chat/completions', 'OpenAI: create a chat completion.', {
    scope: 'chat',
    body: chatCompletionRequestSchema,
    attachments: true,
    reply: chatCompletionReplySchema,
    events: true,
  }),
  completion: operation(
    'POST /v1/completions',
    'OpenAI (legacy): continue a text with the fast model, outside any session.',
    { scope: 'chat', body: textCompletionRequestSchema, reply: textCompletionReplySchema, events: true },
  ),
  createResponse: operation('POST /v1/responses', 'OpenAI: create a response.', {
    scope: 'chat',
    body: openAiResponseRequestSchema,
    attachments: true,
    reply: openAiResponseReplySchema,
    events: true,
  }),
  getResponse: operation('GET /v1/responses/:id', 'OpenAI: get a response, complete or in progress.', {
    scope: 'read',
    reply: openAiResponseReplySchema,
  }),
  deleteResponse: operation(
    'DELETE /v1/responses/:id',
    'OpenAI: delete the newest response of a conversation. Returns 409 if later ones build on it.',
    { scope: 'chat', reply: openAiDeletedReplySchema },
  ),
  models: operation('GET /v1/models', 'OpenAI: list models. `familiar` is the agent with its configured model.', {
    scope: 'read',
    reply: openAiModelsReplySchema,
  }),
  model: operation('GET /v1/models/:id', 'OpenAI: get a model. Write a slash in its id as `%2F`.', {
    scope: 'read',
    reply: openAiModelReplySchema,
  }),
  embeddings: operation(
    'POST /v1/embeddings',
    'OpenAI: create embeddings, as vectors of length 1. Texts that are too long are cut.',
    { scope: 'chat', body: openAiEmbeddingRequestSchema, reply: openAiEmbeddingsReplySchema },
  ),
  transcribe: operation('POST /v1/audio/transcriptions', 'OpenAI: transcribe a recording, sent as a form.', {
    scope: 'chat',
    rawBody: { mediaTypes: ['multipart/form-data'] },
    reply: openAiTranscriptionReplySchema,
  }),
  speak: operation('POST /v1/audio/speech', 'OpenAI: convert text to speech, in the format of the configured voice.', {
    scope: 'chat',
    body: openAiSpeechRequestSchema,
    mediaTypes: ['audio/wav', 'audio/mpeg'],
  }),
}
