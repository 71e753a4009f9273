import { z } from 'zod'

/** One line of the answer of `POST /api/chat`. Everything is optional: servers that speak this API differ. */
export const ollamaLineSchema = z.object({
  message: z
    .object({
      content: z.string().nullish(),
      thinking: z.string().nullish(),
      tool_calls: z
        .array(
          z.object({
            id: z.string().nullish(),
            function: z.object({ name: z.string(), arguments: z.json().nullish() }),
          }),
        )
        .nullish(),
    })
    .nullish(),
  done: z.boolean().nullish(),
  done_reason: z.string().nullish(),
  prompt_eval_count: z.number().nullish(),
  eval_count: z.number().nullish(),
  error: z.string().nullish(),
})
export type OllamaLine = z.infer<typeof ollamaLineSchema>

export interface OllamaMessage {
  role: 'system' | 'user' | 'assistant' | 'tool'
  content: string
  images?: string[]
  thinking?: string
  tool_calls?: { id: string; function: { name: string; arguments: unknown } }[]
  tool_name?: string
  tool_call_id?: string
}
