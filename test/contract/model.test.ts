import { isObject, type JsonObject, objects } from '../support/fake-model/json.ts'
import { describeModel } from './model-contract.ts'
import { modelMaker } from './model-support.ts'

const closedSchema = {
  type: 'object',
  properties: { place: { type: 'string' }, day: { type: 'string' } },
  required: ['place'],
  additionalProperties: false,
}
const completeSchema = {
  ...closedSchema,
  properties: { place: { type: 'string' }, day: { type: ['string', 'null'] } },
  required: ['place', 'day'],
}

describeModel('anthropic', modelMaker('anthropic', '/v1'), {
  replayedThinking: ({ messages }) =>
    objects(messages)
      .flatMap(({ content }) => objects(content))
      .find(({ type }) => type === 'thinking'),
  expectedThinking: (thinking, signature) => ({ type: 'thinking', thinking, signature }),
  oneCallAtATime: { tool_choice: { disable_parallel_tool_use: true } },
  toolChoice: { named: { tool_choice: { type: 'tool', name: 'weather' } }, any: { tool_choice: { type: 'any' } } },
  strictTool: { tools: [{ name: 'weather', strict: true, input_schema: closedSchema }] },
  textArguments: true,
  refusal: true,
  usage: { inputTokens: 175, outputTokens: 20, cacheReadTokens: 50, cacheWriteTokens: 25 },
})

describeModel('openai', modelMaker('openai', '/v1'), {
  replayedThinking: ({ input }) => {
    const { encrypted_content, summary } = objects(input).find(({ type }) => type === 'reasoning') ?? {}
    return { encrypted_content, summary }
  },
  expectedThinking: (text, signature) => ({ encrypted_content: signature, summary: [{ type: 'summary_text', text }] }),
  oneCallAtATime: { parallel_tool_calls: false },
  toolChoice: { named: { tool_choice: { type: 'function', name: 'weather' } }, any: { tool_choice: 'required' } },
  strictTool: { tools: [{ name: 'weather', strict: true, parameters: completeSchema }] },
  textArguments: true,
  refusal: true,
  usage: { inputTokens: 175, outputTokens: 20, cacheReadTokens: 50, cacheWriteTokens: 25 },
})

describeModel('openai-compatible', modelMaker('openai-compatible', '/v1'), {
  replayedThinking: ({ messages }) => objects(messages).find(({ role }) => role === 'assistant')?.reasoning_content,
  expectedThinking: (text) => text,
  oneCallAtATime: { parallel_tool_calls: false },
  toolChoice: {
    named: { tool_choice: { type: 'function', function: { name: 'weather' } } },
    any: { tool_choice: 'required' },
  },
  strictTool: { tools: [{ function: { name: 'weather', strict: true, parameters: completeSchema } }] },
  textArguments: true,
  refusal: true,
  usage: { inputTokens: 175, outputTokens: 20, cacheReadTokens: 50, cacheWriteTokens: 25 },
})

describeModel('google', modelMaker('google', '/v1beta'), {
  replayedThinking: ({ contents }) => {
    const parts = objects(contents).flatMap((content) => objects(content.parts))
    return {
      text: parts.find(({ thought }) => thought === true)?.text,
      signature: parts.find(({ functionCall }) => isObject(functionCall))?.thoughtSignature,
    }
  },
  expectedThinking: (text, signature) => ({ text, signature }),
  toolChoice: {
    named: { toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['weather'] } } },
    any: { toolConfig: { functionCallingConfig: { mode: 'ANY' } } },
  },
  strictTool: { tools: [{ functionDeclarations: [{ name: 'weather' }] }], toolConfig: validated() },
  textArguments: false,
  refusal: true,
  usage: { inputTokens: 175, outputTokens: 20, cacheReadTokens: 50, cacheWriteTokens: 0 },
})

describeModel('ollama', modelMaker('ollama', ''), {
  replayedThinking: ({ messages }) => objects(messages).find(({ role }) => role === 'assistant')?.thinking,
  expectedThinking: (text) => text,
  textArguments: false,
  refusal: false,
  usage: { inputTokens: 175, outputTokens: 20, cacheReadTokens: 0, cacheWriteTokens: 0 },
})

function validated(): JsonObject {
  return { functionCallingConfig: { mode: 'VALIDATED' } }
}
