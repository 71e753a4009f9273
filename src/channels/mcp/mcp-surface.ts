import type {
  GetPromptResult,
  ListPromptsResult,
  ListResourcesResult,
  ReadResourceResult,
  ResourceTemplateType,
} from '@modelcontextprotocol/server'
import type { McpTool } from './mcp-tool.ts'

/** What one caller is shown and may do. Whatever their scope does not allow is not in it (MCP-2). */
export interface McpSurface {
  tools: {
    /** A few: clients put every one of them before their model. */
    list(): readonly McpTool[]
    /** Also one that is not listed. */
    find(name: string): McpTool | undefined
  }
  resources: McpResources
  prompts: {
    list(): ListPromptsResult['prompts']
    /** Undefined where there is none of that name. */
    get(name: string, given: Readonly<Record<string, string>>): GetPromptResult | undefined
  }
}

export interface McpResources {
  templates: readonly ResourceTemplateType[]
  /** Page by page; `bad_request` for a cursor that no page has given. */
  list(cursor: string | undefined): Promise<Pick<ListResourcesResult, 'resources' | 'nextCursor'>>
  /** Undefined where there is no such resource: another user's is none (SEC-22). */
  read(uri: string): Promise<ReadResourceResult | undefined>
  /** What the argument of a template may be, best first; empty where it cannot be told. */
  complete(template: string, given: { argument: string; value: string }): Promise<string[]>
}
