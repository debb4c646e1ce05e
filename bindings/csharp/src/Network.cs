// Network.cs - texts about networks.
//
// SPDX-License-Identifier: MIT
using System.Text;
using Synfire.Raw;

namespace Synfire
{
    // The parts of a network have handles in the raw layer: synfire_network_get_synapse, synfire_network_get_layer,
    // synfire_network_get_optimizer, synfire_network_get_buffer and synfire_network_get_graph.
    public sealed unsafe partial class Network
    {
        /// <summary>A table of the stages, and the bytes that the parts of the network take.</summary>
        public string Summary()
        {
            using (new Use(Handle))
            {
                ulong bytes = 0;
                Errors.Check(Native.synfire_network_write_summary(Raw, null, &bytes));
                byte[] text = new byte[bytes];
                fixed (byte* data = text) Errors.Check(Native.synfire_network_write_summary(Raw, data, &bytes));
                return Encoding.UTF8.GetString(text, 0, (int)bytes - 1);
            }
        }

        /// <summary>The stages as text in the DOT language of Graphviz.</summary>
        public string ToDot()
        {
            using (new Use(Handle))
            {
                ulong bytes = 0;
                Errors.Check(Native.synfire_network_write_dot(Raw, null, &bytes));
                byte[] text = new byte[bytes];
                fixed (byte* data = text) Errors.Check(Native.synfire_network_write_dot(Raw, data, &bytes));
                return Encoding.UTF8.GetString(text, 0, (int)bytes - 1);
            }
        }
    }
}
