import { Component, type ComponentChildren } from "preact";
import { ErrorState } from "./ErrorState";

interface Props {
  /** A failure is forgotten when this changes, as the page does. */
  name: string;
  children: ComponentChildren;
}

/** Keeps a fault of one page from taking the others with it. */
export class ErrorBoundary extends Component<Props, { error: unknown }> {
  override state = { error: null as unknown };

  static override getDerivedStateFromError(error: unknown) {
    return { error };
  }

  override componentDidUpdate(before: Props) {
    if (before.name !== this.props.name && this.state.error !== null)
      this.setState({ error: null });
  }

  render() {
    if (this.state.error === null) return this.props.children;
    return <ErrorState error={this.state.error} retry={() => location.reload()} />;
  }
}
