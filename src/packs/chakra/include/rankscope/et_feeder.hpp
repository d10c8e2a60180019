// The established Chakra feeder's classes over rankscope/feeder.h: a simulator includes this header, links
// librankscope and keeps its code. Header only; C++11 and later.
//
// What differs from the established classes: attributes that a node does not have are 0 or "", never whatever
// memory held; a node comes once; files may be packed; what cannot be read throws std::runtime_error with the
// file and the offset.
#ifndef RANKSCOPE_ET_FEEDER_HPP
#define RANKSCOPE_ET_FEEDER_HPP

#include <cstdint>
#include <limits>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "rankscope/feeder.h"

namespace Chakra {

enum NodeType : int {
    INVALID_NODE = 0,
    METADATA_NODE = 1,
    MEM_LOAD_NODE = 2,
    MEM_STORE_NODE = 3,
    COMP_NODE = 4,
    COMM_SEND_NODE = 5,
    COMM_RECV_NODE = 6,
    COMM_COLL_NODE = 7
};

namespace detail {

struct Close {
    void operator()(rs_et_feeder *feeder) const { rs_et_feeder_close(feeder); }
};

inline std::shared_ptr<rs_et_feeder> open(const std::string &path)
{
    rs_et_feeder *feeder = nullptr;
    rs_error err = rs_error();
    if (rs_et_feeder_open(path.c_str(), &feeder, &err) != RS_OK) {
        std::vector<char> text(4 * RS_ERROR_TEXT);
        rs_error_text(&err, text.data(), text.size());
        throw std::runtime_error(text.data());
    }
    return std::shared_ptr<rs_et_feeder>(feeder, Close());
}

} // namespace detail

// An attribute whose kind the caller knows.
class Attribute {
public:
    Attribute(std::shared_ptr<rs_et_feeder> feeder, const rs_et_node *node, std::string name)
        : feeder_(std::move(feeder)), node_(node), name_(std::move(name))
    {
    }
    std::int64_t int64_val() const { return rs_et_node_int(node_, name_.c_str(), 0); }
    std::uint64_t uint64_val() const { return static_cast<std::uint64_t>(int64_val()); }
    std::int32_t int32_val() const { return static_cast<std::int32_t>(int64_val()); }
    std::uint32_t uint32_val() const { return static_cast<std::uint32_t>(int64_val()); }
    std::int64_t sint64_val() const { return int64_val(); }
    std::int32_t sint32_val() const { return int32_val(); }
    std::uint64_t fixed64_val() const { return uint64_val(); }
    std::uint32_t fixed32_val() const { return uint32_val(); }
    bool bool_val() const { return int64_val() != 0; }
    double double_val() const { return rs_et_node_double(node_, name_.c_str(), 0); }
    float float_val() const { return static_cast<float>(double_val()); }
    std::string string_val() const { return rs_et_node_text(node_, name_.c_str(), ""); }
    const std::string &name() const { return name_; }

private:
    std::shared_ptr<rs_et_feeder> feeder_;
    const rs_et_node *node_;
    std::string name_;
};

// A node; it keeps its feeder's memory alive.
class ETFeederNode {
public:
    ETFeederNode(std::shared_ptr<rs_et_feeder> feeder, const rs_et_node *node)
        : feeder_(std::move(feeder)), node_(node)
    {
    }

    std::uint64_t id() const { return rs_et_node_id(node_); }
    std::string name() const { return rs_et_node_name(node_); }
    NodeType type() const { return static_cast<NodeType>(rs_et_node_type(node_)); }
    bool is_cpu_op() const { return rs_et_node_is_cpu_op(node_); }
    std::uint64_t runtime() const { return rs_et_node_runtime(node_); }
    std::uint64_t num_ops() const { return number("num_ops"); }
    std::uint32_t tensor_loc() const { return static_cast<std::uint32_t>(number("tensor_loc")); }
    std::uint64_t tensor_size() const { return number("tensor_size"); }
    std::int64_t comm_type() const { return rs_et_node_int(node_, "comm_type", 0); }
    std::uint32_t comm_priority() const { return static_cast<std::uint32_t>(number("comm_priority")); }
    std::uint64_t comm_size() const { return number("comm_size"); }
    std::uint32_t comm_src() const { return static_cast<std::uint32_t>(number("comm_src")); }
    std::uint32_t comm_dst() const { return static_cast<std::uint32_t>(number("comm_dst")); }
    std::uint32_t comm_tag() const { return static_cast<std::uint32_t>(number("comm_tag")); }
    std::string pg_name() const { return rs_et_node_text(node_, "pg_name", ""); }

    std::string get_inputs_values() const { return rs_et_node_inputs(node_, "values"); }
    std::string get_inputs_shapes() const { return rs_et_node_inputs(node_, "shapes"); }
    std::string get_inputs_types() const { return rs_et_node_inputs(node_, "types"); }
    std::string get_outputs_values() const { return rs_et_node_outputs(node_, "values"); }
    std::string get_outputs_shapes() const { return rs_et_node_outputs(node_, "shapes"); }
    std::string get_outputs_types() const { return rs_et_node_outputs(node_, "types"); }

    bool has_other_attr(const std::string &name) const { return rs_et_node_has(node_, name.c_str()); }
    // Throws std::runtime_error when the node has no such attribute.
    Attribute get_other_attr(const std::string &name) const
    {
        if (!has_other_attr(name)) throw std::runtime_error("node " + std::to_string(id()) + " has no attribute " + name);
        return Attribute(feeder_, node_, name);
    }

    // The nodes that depend on this one, by ascending id.
    std::vector<std::shared_ptr<ETFeederNode>> getChildren() const
    {
        std::vector<std::shared_ptr<ETFeederNode>> out;
        std::size_t n = 0;
        const std::uint64_t *ids = rs_et_node_children(node_, &n);
        for (std::size_t i = 0; i < n; i++) {
            const rs_et_node *child = rs_et_feeder_find(feeder_.get(), ids[i]);
            if (child) out.push_back(std::make_shared<ETFeederNode>(feeder_, child));
        }
        return out;
    }

private:
    std::uint64_t number(const char *name) const
    {
        return static_cast<std::uint64_t>(rs_et_node_int(node_, name, 0));
    }

    std::shared_ptr<rs_et_feeder> feeder_;
    const rs_et_node *node_;
};

// Hands out nodes whose data dependencies are freed, lowest id first.
class ETFeeder {
public:
    explicit ETFeeder(const std::string &filename) : feeder_(detail::open(filename)) {}

    // Nodes come from the file alone; one of this feeder is there already.
    void addNode(std::shared_ptr<ETFeederNode> node) { (void)node; }
    void removeNode(std::uint64_t id) { rs_et_feeder_remove(feeder_.get(), id); }
    // Nodes are left that were not removed.
    bool hasNodesToIssue() const
    {
        return rs_et_feeder_size(feeder_.get()) > rs_et_feeder_removed(feeder_.get());
    }
    // Null when none is ready.
    std::shared_ptr<ETFeederNode> getNextIssuableNode()
    {
        const rs_et_node *node = rs_et_feeder_next(feeder_.get());
        return node ? std::make_shared<ETFeederNode>(feeder_, node) : nullptr;
    }
    // A node that was handed out comes again; any other comes in its turn, ready or not.
    void pushBackIssuableNode(std::uint64_t id)
    {
        rs_et_feeder_push_back(feeder_.get(), id);
        rs_et_feeder_offer(feeder_.get(), id);
    }
    // Throws std::runtime_error when there is no such node.
    std::shared_ptr<ETFeederNode> lookupNode(std::uint64_t id) const
    {
        const rs_et_node *node = rs_et_feeder_find(feeder_.get(), id);
        if (!node) throw std::runtime_error("there is no node " + std::to_string(id));
        return std::make_shared<ETFeederNode>(feeder_, node);
    }
    // What depends on the node waits for it no longer.
    void freeChildrenNodes(std::uint64_t id) { rs_et_feeder_complete(feeder_.get(), id); }

private:
    std::shared_ptr<rs_et_feeder> feeder_;
};

namespace FeederV3 {

// A node whose accessors throw std::runtime_error for what is absent, unless a value to take instead is given.
class ETFeederNode {
public:
    ETFeederNode(std::shared_ptr<rs_et_feeder> feeder, const rs_et_node *node)
        : feeder_(std::move(feeder)), node_(node)
    {
    }

    std::uint64_t id() const { return rs_et_node_id(node_); }
    std::string name() const { return rs_et_node_name(node_); }
    NodeType type() const { return static_cast<NodeType>(rs_et_node_type(node_)); }
    std::uint64_t runtime() const { return rs_et_node_runtime(node_); }
    std::uint64_t start_time_micros() const { return rs_et_node_start(node_); }
    bool has_attr(const std::string &name) const { return rs_et_node_has(node_, name.c_str()); }

    template <typename T> T get_attr(const std::string &name) const
    {
        if (!has_attr(name)) throw std::runtime_error("node " + std::to_string(id()) + " has no attribute " + name);
        return read(name, static_cast<T *>(nullptr));
    }
    template <typename T> T get_attr(const std::string &name, const T &otherwise) const
    {
        return has_attr(name) ? read(name, static_cast<T *>(nullptr)) : otherwise;
    }

#define RANKSCOPE_ATTRIBUTE(name)                                                                            \
    template <typename T> T name() const                                                                     \
    {                                                                                                        \
        return get_attr<T>(#name);                                                                           \
    }                                                                                                        \
    template <typename T> T name(const T &otherwise) const                                                   \
    {                                                                                                        \
        return get_attr<T>(#name, otherwise);                                                                \
    }
    RANKSCOPE_ATTRIBUTE(is_cpu_op)
    RANKSCOPE_ATTRIBUTE(num_ops)
    RANKSCOPE_ATTRIBUTE(tensor_loc)
    RANKSCOPE_ATTRIBUTE(tensor_size)
    RANKSCOPE_ATTRIBUTE(comm_type)
    RANKSCOPE_ATTRIBUTE(comm_priority)
    RANKSCOPE_ATTRIBUTE(comm_size)
    RANKSCOPE_ATTRIBUTE(comm_src)
    RANKSCOPE_ATTRIBUTE(comm_dst)
    RANKSCOPE_ATTRIBUTE(comm_tag)
    RANKSCOPE_ATTRIBUTE(pg_name)
#undef RANKSCOPE_ATTRIBUTE

private:
    template <typename T>
    typename std::enable_if<std::is_integral<T>::value || std::is_enum<T>::value, T>::type read(const std::string &name,
                                                                                             T *) const
    {
        return static_cast<T>(rs_et_node_int(node_, name.c_str(), 0));
    }
    template <typename T>
    typename std::enable_if<std::is_floating_point<T>::value, T>::type read(const std::string &name, T *) const
    {
        return static_cast<T>(rs_et_node_double(node_, name.c_str(), 0));
    }
    std::string read(const std::string &name, std::string *) const
    {
        return rs_et_node_text(node_, name.c_str(), "");
    }

    std::shared_ptr<rs_et_feeder> feeder_;
    const rs_et_node *node_;
};

// Which nodes are free of dependencies, and which were taken and have not finished.
class DependancyResolver {
public:
    explicit DependancyResolver(std::shared_ptr<rs_et_feeder> feeder) : feeder_(std::move(feeder)) { collect(); }

    const std::set<std::uint64_t> &get_dependancy_free_nodes() const { return free_; }
    const std::set<std::uint64_t> &get_ongoing_nodes() const { return ongoing_; }
    // Both throw std::runtime_error for a node that is not in the state they ask for.
    void take_node(std::uint64_t id)
    {
        if (!free_.erase(id)) throw std::runtime_error("node " + std::to_string(id) + " is not free");
        ongoing_.insert(id);
    }
    void finish_node(std::uint64_t id)
    {
        if (!ongoing_.erase(id)) throw std::runtime_error("node " + std::to_string(id) + " was not taken");
        rs_et_feeder_complete(feeder_.get(), id);
        collect();
    }
    void push_back_node(std::uint64_t id)
    {
        if (!ongoing_.erase(id)) throw std::runtime_error("node " + std::to_string(id) + " was not taken");
        free_.insert(id);
    }

private:
    void collect()
    {
        while (const rs_et_node *node = rs_et_feeder_next(feeder_.get())) free_.insert(rs_et_node_id(node));
    }

    std::shared_ptr<rs_et_feeder> feeder_;
    std::set<std::uint64_t> free_, ongoing_;
};

class ETFeeder {
public:
    explicit ETFeeder(const std::string &filename) : feeder_(detail::open(filename)), resolver_(feeder_) {}

    // Throws std::runtime_error when there is no such node.
    std::shared_ptr<ETFeederNode> lookupNode(std::uint64_t id) const
    {
        const rs_et_node *node = rs_et_feeder_find(feeder_.get(), id);
        if (!node) throw std::runtime_error("there is no node " + std::to_string(id));
        return std::make_shared<ETFeederNode>(feeder_, node);
    }
    DependancyResolver &getDependancyResolver() { return resolver_; }

private:
    std::shared_ptr<rs_et_feeder> feeder_;
    DependancyResolver resolver_;
};

} // namespace FeederV3
} // namespace Chakra

#endif
