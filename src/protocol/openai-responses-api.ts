import { z } from 'zod'
import type { Json } from './json.ts'
import { openAiExtrasSchema } from './openai-api.ts'

/** `/v1/responses`, as far as it has a meaning here. What is not known is left alone, as in `openai-api.ts`. */

const maxItems = 4_000
const maxParts = 1_000

const name = z.string().max(200)

const contentPart = z.discriminatedUnion('type', [
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
export type ResponseContentPart = z.infer<typeof contentPart>

const content = z.union(
  [z.string(), z.array(contentPart).max(maxParts)],
  'must be text, or a list of parts of the types input_text, output_text, input_image and input_file',
)

const messageItem = z.object({
  type: z.literal('message').default('message'),
  role: z.enum(['system', 'developer', 'user', 'assistant']),
  content,
})

const item = z.union([
  z.object({
    type: z.literal('function_call'),
    call_id: z.string().max(400),
    name,
    arguments: z.string(),
  }),
  z.object({ type: z.literal('function_call_output'), call_id: z.string().max(400), output: content }),
  /** What a model thought is told again by some clients; it is not needed. */
  z.object({ type: z.literal('reasoning') }),
  messageItem,
])
export type ResponseItem = z.infer<typeof item>

const functionTool = z.object({
  type: z.literal('function', 'only functions can be passed on'),
  name: z.string(),
  description: z.string().nullish(),
  parameters: z.record(z.string(), z.custom<Json>()).nullish(),
})

const outputFormat = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text') }),
  z.object({ type: z.literal('json_object') }),
  z.object({ type: z.literal('json_schema'), schema: z.custom<Json>().optional() }),
])

export const openAiResponseRequestSchema = z.object({
  model: name.min(1),
  input: z.union(
    [z.string().min(1), z.array(item).min(1).max(maxItems)],
    'must be text, or a list of messages, function_call and function_call_output',
  ),
  instructions: z.string().nullish(),
  /** Goes on in the session of that answer, behind it. */
  previous_response_id: z.string().max(200).nullish(),
  stream: z.boolean().nullish(),
  tools: z.array(functionTool).nullish(),
  tool_choice: z
    .union([z.enum(['auto', 'none', 'required']), z.object({ type: z.literal('function'), name })])
    .nullish(),
  text: z.object({ format: outputFormat.nullish() }).nullish(),
  background: z.literal(false, 'is not possible').nullish(),
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
